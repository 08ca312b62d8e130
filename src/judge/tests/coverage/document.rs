//! Reads a document in Markdown, or the comments of a Go file, and finds its sentences and their keywords.
//!
//! A sentence is prose outside of headings, code blocks, HTML comments, tables of contents and pictures. Each paragraph,
//! list item and table cell is read by itself. Its digest is taken of its text without markup, with straight quotes and
//! single spaces, without the punctuation at its end; case is kept, since `must` and `MUST` are not the same.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use sha2::{Digest, Sha256};

use super::go;

/// The words that make a sentence normative, in any case. Of two that begin at one place the first in the list counts.
pub const KEYWORDS: &[&str] = &[
    "must not",
    "must",
    "shall not",
    "shall",
    "should not",
    "should never",
    "should",
    "may not",
    "may",
    "cannot",
    "can not",
    "can only",
    "never",
    "is required",
    "are required",
    "required",
    "mandatory",
    "is not recommended",
    "recommended",
    "recommend",
    "optional",
    "supposed to",
    "expected to",
    "is expected",
    "needs to",
    "need to",
    "has to",
    "have to",
    "immutable",
    "is not allowed",
    "not allowed",
    "is allowed",
    "allowed to",
    "responsibility",
    "responsible",
    "ensure",
    "ensures",
    "conform",
    "conforms",
    "conforming",
];

/// Abbreviations whose period ends no sentence.
const ABBREVIATIONS: &[&str] = &["aka.", "cf.", "e.g.", "i.e.", "vs."];

/// How many hexadecimal digits of a sentence's SHA-256 are kept.
const DIGITS: usize = 12;

/// What was found in a document.
#[derive(Debug)]
pub struct Document {
    /// Its first heading, or a Go file's package clause.
    pub title: String,
    /// Its sentences, in their order.
    pub sentences: Vec<Sentence>,
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The headings above it but the title, and the term that its list item defines, joined by ` › `.
    pub section: String,
    /// The line on which its paragraph begins.
    pub line: usize,
    /// Its keywords, as it writes them; without one it only says what is.
    pub keywords: Vec<String>,
    /// The beginning of the SHA-256 of its text.
    pub digest: String,
    /// Its text without markup. It is shown, and never stored.
    pub text: String,
}

/// The text between two boundaries of blocks.
struct Block {
    section: String,
    line: usize,
    text: String,
}

impl Document {
    /// Reads a document; a name that ends in `.go` makes it a Go file.
    pub fn read(name: &str, text: &str) -> Self {
        if name.ends_with(".go") {
            return Self::read_markdown(&go::comments_as_markdown(text));
        }
        Self::read_markdown(text)
    }

    fn read_markdown(text: &str) -> Self {
        let mut reader = Reader::new(text);
        let parser =
            Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS).into_offset_iter();
        for (event, range) in parser {
            reader.read(event, range);
        }
        reader.end_block();
        let sentences = reader.blocks.iter().flat_map(Block::sentences).collect();
        Document {
            title: reader.title,
            sentences,
        }
    }
}

/// Gathers blocks while the parser goes through the document.
struct Reader<'a> {
    source: &'a str,
    title: String,
    headings: Vec<(HeadingLevel, String)>,
    blocks: Vec<Block>,
    text: String,
    begins: usize,
    /// The bold words with which the block begins.
    term: Option<String>,
    in_term: bool,
    in_heading: Option<HeadingLevel>,
    in_code: bool,
    in_image: bool,
    in_contents: bool,
}

impl<'a> Reader<'a> {
    fn new(source: &'a str) -> Self {
        Reader {
            source,
            title: String::new(),
            headings: Vec::new(),
            blocks: Vec::new(),
            text: String::new(),
            begins: 0,
            term: None,
            in_term: false,
            in_heading: None,
            in_code: false,
            in_image: false,
            in_contents: false,
        }
    }

    fn read(&mut self, event: Event, range: Range<usize>) {
        match event {
            Event::Start(Tag::Strong) => self.in_term = self.text.trim().is_empty(),
            Event::End(TagEnd::Strong) => {
                if self.in_term {
                    self.term = Some(self.text.trim().to_owned());
                }
                self.in_term = false;
            }
            Event::Start(Tag::Image { .. }) => self.in_image = true,
            Event::End(TagEnd::Image) => self.in_image = false,
            Event::Start(Tag::Emphasis | Tag::Link { .. }) | Event::End(TagEnd::Emphasis | TagEnd::Link) => {}
            Event::Start(Tag::Heading { level, .. }) => {
                self.end_block();
                self.in_heading = Some(level);
            }
            Event::End(TagEnd::Heading(level)) => self.end_heading(level),
            Event::Start(Tag::CodeBlock(_)) => {
                self.end_block();
                self.in_code = true;
            }
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Html(html) | Event::InlineHtml(html) => match html.trim() {
                "<!-- toc -->" => self.in_contents = true,
                "<!-- /toc -->" => self.in_contents = false,
                _ => {}
            },
            Event::Text(words) | Event::Code(words) => self.push(&words, range),
            Event::SoftBreak | Event::HardBreak => self.push(" ", range),
            Event::Start(_) | Event::End(_) | Event::Rule => self.end_block(),
            _ => {}
        }
    }

    fn push(&mut self, words: &str, range: Range<usize>) {
        if self.in_code || self.in_image || self.in_contents {
            return;
        }
        if self.text.is_empty() {
            self.begins = range.start;
        }
        self.text.push_str(words);
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        let heading = normalized(&std::mem::take(&mut self.text));
        self.in_heading = None;
        self.term = None;
        if level == HeadingLevel::H1 && self.title.is_empty() {
            self.title = heading;
            return;
        }
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, heading));
    }

    fn end_block(&mut self) {
        if self.in_heading.is_some() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let term = self.term.take();
        if text.trim().is_empty() {
            return;
        }
        let mut section: Vec<&str> = self
            .headings
            .iter()
            .map(|(_, heading)| heading.as_str())
            .collect();
        // Only what is defined after it makes bold words a term.
        let term = term.filter(|term| text.trim_start()[term.len()..].starts_with(':'));
        section.extend(term.as_deref());
        self.blocks.push(Block {
            section: section.join(" › "),
            line: self.source[..self.begins].matches('\n').count() + 1,
            text,
        });
    }
}

impl Block {
    fn sentences(&self) -> Vec<Sentence> {
        let text = normalized(&self.text);
        let sentences = split(&text)
            .into_iter()
            .map(|sentence| sentence.trim_end_matches(['.', ':', ';', ',']));
        sentences
            .filter(|sentence| sentence.contains(char::is_alphanumeric))
            .map(|sentence| Sentence {
                section: self.section.clone(),
                line: self.line,
                keywords: keywords(sentence),
                digest: digest(sentence),
                text: sentence.to_owned(),
            })
            .collect()
    }
}

/// A text with straight quotes and single spaces.
fn normalized(text: &str) -> String {
    let straight: String = text
        .chars()
        .map(|one| match one {
            '“' | '”' => '"',
            '‘' | '’' => '\'',
            other => other,
        })
        .collect();
    straight.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a block: each ends where `.`, `?` or `!` is followed by a word that does not begin in lower case.
fn split(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut begins = 0;
    let mut word_begins = 0;
    for (at, _) in text.match_indices(' ') {
        let word = &text[word_begins..at];
        word_begins = at + 1;
        let bare = word.trim_end_matches([')', '"', '\'', ']']);
        let ends = bare.ends_with(['.', '?', '!']);
        let abbreviated = ABBREVIATIONS.contains(&bare.trim_start_matches('(').to_lowercase().as_str());
        let lower = text[word_begins..].starts_with(|next: char| next.is_lowercase());
        if ends && !abbreviated && !lower {
            sentences.push(&text[begins..at]);
            begins = word_begins;
        }
    }
    if begins < text.len() {
        sentences.push(&text[begins..]);
    }
    sentences
}

/// The keywords of a sentence as it writes them, each once.
fn keywords(sentence: &str) -> Vec<String> {
    let words: Vec<&str> = sentence
        .split(|one: char| !one.is_alphanumeric() && one != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let here = KEYWORDS.iter().find_map(|keyword| {
            let length = keyword.split(' ').count();
            let written = words.get(at..at + length)?.join(" ");
            written.eq_ignore_ascii_case(keyword).then_some((written, length))
        });
        let Some((written, length)) = here else {
            at += 1;
            continue;
        };
        at += length;
        if !found.contains(&written) {
            found.push(written);
        }
    }
    found
}

fn digest(sentence: &str) -> String {
    let digest = Sha256::digest(sentence.as_bytes());
    let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hexadecimal[..DIGITS].to_owned()
}
