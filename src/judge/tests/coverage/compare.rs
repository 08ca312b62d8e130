//! Compares a document with its map.

use std::fmt;

use super::{
    document::{Document, Sentence},
    map::{Entry, Map, Section},
};

/// What the document says and its map does not, or the reverse.
#[derive(Debug)]
pub enum Difference<'a> {
    /// A sentence with a keyword has no entry.
    New(&'a Sentence),
    /// An entry's sentence is in another section.
    Moved(&'a Section, &'a Entry, &'a Sentence),
    /// An entry's sentence is not there; this one of its section has no entry.
    Changed(&'a Section, &'a Entry, &'a Sentence),
    /// An entry tells other keywords than its sentence has.
    Mislabelled(&'a Section, &'a Entry, &'a Sentence),
    /// An entry's sentence is not there.
    Gone(&'a Section, &'a Entry),
}

/// Finds the differences between a document and one text of its map.
pub fn compare<'a>(map: &'a Map, text: &'a str, document: &'a Document) -> Vec<Difference<'a>> {
    let mut differences = Vec::new();
    let mut unmapped: Vec<&Sentence> = document.sentences.iter().collect();
    let mut unseen = Vec::new();
    for (section, entry) in map.entries(text) {
        let mine =
            |sentence: &Sentence| sentence.section == section.section && sentence.digest == entry.digest;
        let Some(sentence) = document.sentences.iter().find(|sentence| mine(sentence)) else {
            unseen.push((section, entry));
            continue;
        };
        unmapped.retain(|sentence| !mine(sentence));
        if entry.keyword.as_deref().unwrap_or_default() != sentence.keywords.join(", ") {
            differences.push(Difference::Mislabelled(section, entry, sentence));
        }
    }
    unseen.retain(|(section, entry)| {
        let moved = take(&mut unmapped, |sentence| sentence.digest == entry.digest);
        differences.extend(moved.map(|sentence| Difference::Moved(section, entry, sentence)));
        moved.is_none()
    });
    unmapped.retain(|sentence| !sentence.keywords.is_empty());
    unseen.retain(|(section, entry)| {
        let changed = take(&mut unmapped, |sentence| {
            entry.keyword.is_some() && sentence.section == section.section
        });
        differences.extend(changed.map(|sentence| Difference::Changed(section, entry, sentence)));
        changed.is_none()
    });
    differences.extend(
        unseen
            .into_iter()
            .map(|(section, entry)| Difference::Gone(section, entry)),
    );
    differences.extend(unmapped.into_iter().map(Difference::New));
    differences
}

/// Takes the first sentence of a list that fits.
fn take<'a>(from: &mut Vec<&'a Sentence>, fits: impl Fn(&Sentence) -> bool) -> Option<&'a Sentence> {
    let place = from.iter().position(|sentence| fits(sentence))?;
    Some(from.remove(place))
}

impl Difference<'_> {
    /// The rules that the map names for the sentence.
    pub fn rules(&self) -> &[String] {
        match self {
            Difference::New(_) => &[],
            Difference::Moved(_, entry, _)
            | Difference::Changed(_, entry, _)
            | Difference::Mislabelled(_, entry, _)
            | Difference::Gone(_, entry) => &entry.rules,
        }
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::New(sentence) => write!(f, "new: {}\n{sentence}", sentence.section),
            Difference::Moved(section, entry, sentence) => {
                writeln!(f, "moved: {}, from {}", sentence.section, section.section)?;
                write!(f, "{}\n{sentence}", Mapped(section, entry))
            }
            Difference::Changed(section, entry, sentence) => {
                writeln!(f, "changed: {}", section.section)?;
                write!(f, "{}\n{sentence}", Mapped(section, entry))
            }
            Difference::Mislabelled(section, entry, sentence) => {
                writeln!(f, "other keywords: {}", section.section)?;
                write!(f, "{}\n{sentence}", Mapped(section, entry))
            }
            Difference::Gone(section, entry) => {
                write!(f, "gone: {}\n{}", section.section, Mapped(section, entry))
            }
        }
    }
}

/// What the map has of a sentence.
struct Mapped<'a>(&'a Section, &'a Entry);

impl fmt::Display for Mapped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mapped(section, entry) = self;
        let keyword = entry.keyword.as_deref().unwrap_or("no keyword");
        write!(f, "    the map has {}, {keyword}: ", entry.digest)?;
        if entry.rules.is_empty() {
            return write!(f, "no rule, since {}", section.reason(entry).unwrap_or_default());
        }
        write!(f, "judged by {}", entry.rules.join(", "))
    }
}

/// The sentence where it stands, and the entry that it would have.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    line {}: {}", self.line, self.text)?;
        write!(f, "      - {{digest: \"{}\"", self.digest)?;
        if !self.keywords.is_empty() {
            write!(f, ", keyword: \"{}\"", self.keywords.join(", "))?;
        }
        f.write_str("}")
    }
}
