//! Reads a document in Markdown, or the comments of a Go file, and finds its sentences and their keywords.
//!
//! A sentence is prose outside of headings, code blocks, HTML comments, tables of contents and pictures. Each paragraph,
//! list item and table cell is read by itself. Its digest is taken of its text without markup, with straight quotes and
//! single spaces, without the punctuation at its end; case is kept, since `must` and `MUST` are not the same.

use std::{ops::Range, sync::LazyLock};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use regex::Regex;
use ring::digest;

/// The words that make a sentence normative, in any case. Of two that begin at one place the first in the list counts.
pub const KEYWORDS: &str = "must not|must|shall not|shall|should not|should never|should|may not|may|cannot|can not|can only|\
    never|is required|are required|required|mandatory|is not recommended|recommended|recommend|optional|supposed to|expected to|\
    is expected|needs to|need to|has to|have to|immutable|is not allowed|not allowed|is allowed|allowed to|responsibility|\
    responsible|ensure|ensures|conform|conforms|conforming";

/// Abbreviations whose period ends no sentence.
const ABBREVIATIONS: &[&str] = &["aka.", "cf.", "e.g.", "i.e.", "vs."];

/// How many hexadecimal digits of a sentence's SHA-256 are kept.
pub const DIGITS: usize = 12;

/// One sentence.
#[derive(Debug)]
pub struct Sentence {
    /// The headings above it but the title, and the term that its list item defines, joined by ` › `.
    pub section: String,
    /// The line on which its paragraph begins.
    pub line: usize,
    /// Its keywords, as it writes them; without one it only says what is.
    pub keywords: String,
    /// The beginning of the SHA-256 of its text.
    pub digest: String,
    /// Its text without markup. It is shown, and never stored.
    pub text: String,
}

/// The sentences of a document, in their order; a name that ends in `.go` makes it a Go file.
pub fn sentences(name: &str, text: &str) -> Vec<Sentence> {
    if name.ends_with(".go") {
        return sentences("", &comments_as_markdown(text));
    }
    let mut reader = SentenceReader {
        source: text,
        ..SentenceReader::default()
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.read(event, range);
    }
    reader.end_block();
    reader.sentences
}

/// Gathers sentences while the parser goes through the document.
#[derive(Default)]
struct SentenceReader<'a> {
    source: &'a str,
    sentences: Vec<Sentence>,
    has_title: bool,
    /// The headings above the block but the title.
    headings: Vec<(HeadingLevel, String)>,
    /// The text of the block so far, and where it begins.
    text: String,
    begins: usize,
    /// The bold words with which the block begins.
    term: Option<String>,
    is_in_term: bool,
    /// How many code blocks, pictures and tables of contents surround this.
    hidden: usize,
}

impl SentenceReader<'_> {
    fn read(&mut self, event: Event, range: Range<usize>) {
        match event {
            Event::Start(Tag::Strong) => self.is_in_term = self.text.trim().is_empty(),
            Event::End(TagEnd::Strong) => {
                if self.is_in_term {
                    self.term = Some(self.text.trim().to_owned());
                }
                self.is_in_term = false;
            }
            Event::Start(Tag::Emphasis | Tag::Link { .. }) | Event::End(TagEnd::Emphasis | TagEnd::Link) => {}
            Event::Start(Tag::Image { .. }) => self.hidden += 1,
            Event::Start(Tag::CodeBlock(_)) => {
                self.end_block();
                self.hidden += 1;
            }
            Event::End(TagEnd::Image | TagEnd::CodeBlock) => self.hidden -= 1,
            Event::Html(html) | Event::InlineHtml(html) => match html.trim() {
                "<!-- toc -->" => self.hidden += 1,
                "<!-- /toc -->" => self.hidden -= 1,
                _ => {}
            },
            Event::Text(words) | Event::Code(words) => self.push(&words, range),
            Event::SoftBreak | Event::HardBreak => self.push(" ", range),
            Event::End(TagEnd::Heading(level)) => self.end_heading(level),
            Event::Start(_) | Event::End(_) | Event::Rule => self.end_block(),
            _ => {}
        }
    }

    fn push(&mut self, words: &str, range: Range<usize>) {
        if self.hidden > 0 {
            return;
        }
        if self.text.is_empty() {
            self.begins = range.start;
        }
        self.text.push_str(words);
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        let heading = normalized(&std::mem::take(&mut self.text));
        self.term = None;
        if level == HeadingLevel::H1 && !self.has_title {
            self.has_title = true;
            return;
        }
        self.headings.retain(|(above, _)| *above < level);
        self.headings.push((level, heading));
    }

    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text);
        // Only what is defined after it makes bold words a term.
        let is_defined = |term: &String| text.trim_start()[term.len()..].starts_with(':');
        let term = self.term.take().filter(is_defined);
        let headings = self.headings.iter().map(|(_, heading)| heading.as_str());
        let section: Vec<&str> = headings.chain(term.as_deref()).collect();
        let section = section.join(" › ");
        let line = self.source[..self.begins].matches('\n').count() + 1;
        for sentence in split(&normalized(&text)) {
            let text = sentence.trim_end_matches(['.', ':', ';', ',']);
            if text.contains(char::is_alphanumeric) {
                self.sentences.push(Sentence {
                    section: section.clone(),
                    line,
                    keywords: keywords(text),
                    digest: digest(text),
                    text: text.to_owned(),
                });
            }
        }
    }
}

/// A text with straight quotes and single spaces.
fn normalized(text: &str) -> String {
    let straight = text.replace(['“', '”'], "\"").replace(['‘', '’'], "'");
    straight.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a block: each ends where `.`, `?` or `!` is followed by a word that does not begin in lower case.
fn split(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let (mut begins, mut word_begins) = (0, 0);
    for (at, _) in text.match_indices(' ') {
        let word = text[word_begins..at].trim_end_matches([')', '"', '\'', ']']);
        word_begins = at + 1;
        let is_abbreviated = ABBREVIATIONS.contains(&word.trim_start_matches('(').to_lowercase().as_str());
        let goes_on = text[word_begins..].starts_with(char::is_lowercase);
        if word.ends_with(['.', '?', '!']) && !is_abbreviated && !goes_on {
            sentences.push(&text[begins..at]);
            begins = word_begins;
        }
    }
    sentences.push(&text[begins..]);
    sentences
}

/// The keywords of a sentence as it writes them, each once.
fn keywords(sentence: &str) -> String {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"(?i)\b(?:{KEYWORDS})\b")).expect("a pattern"));
    let mut keywords: Vec<&str> = Vec::new();
    for keyword in PATTERN.find_iter(sentence).map(|word| word.as_str()) {
        if !keywords.contains(&keyword) {
            keywords.push(keyword);
        }
    }
    keywords.join(", ")
}

/// The beginning of a sentence's SHA-256.
pub fn digest(sentence: &str) -> String {
    let digest = digest::digest(&digest::SHA256, sentence.as_bytes());
    let hexadecimal: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    hexadecimal[..DIGITS].to_owned()
}

/// Turns the comments into paragraphs and everything else into empty lines.
fn comments_as_markdown(source: &str) -> String {
    let mut markdown: Vec<String> = Vec::new();
    // The struct that the line is in, and where the comment above it begins.
    let mut kind: Option<&str> = None;
    let mut comment: Option<usize> = None;
    for (at, line) in source.lines().enumerate() {
        if let Some(text) = line.trim_start().strip_prefix("//") {
            comment.get_or_insert(at);
            // The markers of code generators are not prose.
            let prose = Some(text.trim_start()).filter(|text| !text.starts_with('+'));
            markdown.push(prose.unwrap_or_default().to_owned());
            continue;
        }
        if let Some(above) = comment.take().and_then(|begins| begins.checked_sub(1)) {
            markdown[above] = name(kind, line).map_or_else(String::new, |name| format!("## {name}"));
        }
        markdown.push(String::new());
        let opened = line.strip_prefix("type ").filter(|_| line.ends_with('{'));
        let opened = opened.and_then(|rest| rest.split(' ').next());
        kind = opened.or(kind).filter(|_| line != "}");
    }
    markdown.join("\n")
}

/// The name of what is declared in a line: a type, a constant or, with its struct, a field.
fn name(kind: Option<&str>, line: &str) -> Option<String> {
    let declared = line.trim_start().trim_start_matches("type ");
    let name = declared.split(|one: char| !one.is_alphanumeric()).next();
    let name = name.filter(|name| !name.is_empty())?;
    let kind = kind.filter(|_| line.starts_with(char::is_whitespace));
    Some(kind.map_or_else(|| name.to_owned(), |kind| format!("{kind}.{name}")))
}
