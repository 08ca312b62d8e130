//! The command line of `ci/coverage`.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    compare::{Difference, compare},
    document::Document,
    map::Map,
};

/// How to use the command.
pub const USAGE: &str = "\
usage: ci/coverage DOCUMENT [--text NAME] [--all]
  DOCUMENT     a Markdown file, or a Go file; its title tells which document it is
  --text NAME  compare it with this text of the document, not with the newest that is mapped
  --all        list also the sentences that have neither a keyword nor an entry
exit: 0 no difference, 1 differences, 2 bad usage";

/// Why a document cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments are wrong.
    #[error("a document is missing, or an argument is unknown\n{USAGE}")]
    Usage,
    /// The document cannot be read.
    #[error("failed to read {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is none of those that are mapped.
    #[error("no map has the title {title:?}; the known titles are {known}")]
    UnknownTitle { title: String, known: String },
    /// Its map has no text of that name.
    #[error("{document} has no text {text:?}; its texts are {known}")]
    UnknownText {
        document: String,
        text: String,
        known: String,
    },
    /// The result cannot be printed.
    #[error("failed to print the differences")]
    Unprintable(#[from] io::Error),
}

/// What the user asked for.
struct Asked {
    document: PathBuf,
    text: Option<String>,
    all: bool,
}

/// Compares the document that the arguments name with its map, prints the differences, and returns their number.
pub fn run(arguments: &[String], maps: &[Map], out: &mut dyn io::Write) -> Result<usize, Failure> {
    let asked = Asked::read(arguments)?;
    let document = read(&asked.document)?;
    let map = map_of(maps, &document)?;
    let text = text_of(map, asked.text.as_deref())?;
    let path = asked.document.display();
    writeln!(out, "{path}: {}, compared with its text {text}", map.document)?;
    let differences = compare(map, text, &document);
    for difference in &differences {
        writeln!(out, "\n{difference}")?;
    }
    if asked.all {
        list_unmapped(map, text, &document, out)?;
    }
    let rules: BTreeSet<&str> = differences
        .iter()
        .flat_map(Difference::rules)
        .map(String::as_str)
        .collect();
    let rules = if rules.is_empty() {
        "none".to_owned()
    } else {
        Vec::from_iter(rules).join(", ")
    };
    writeln!(
        out,
        "\ndifferences: {}; rules that they touch: {rules}",
        differences.len()
    )?;
    Ok(differences.len())
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self, Failure> {
        let mut document = None;
        let mut text = None;
        let mut all = false;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--text" => text = Some(arguments.next().ok_or(Failure::Usage)?.clone()),
                "--all" => all = true,
                path if document.is_none() && !path.starts_with('-') => document = Some(PathBuf::from(path)),
                _ => return Err(Failure::Usage),
            }
        }
        let document = document.ok_or(Failure::Usage)?;
        Ok(Asked { document, text, all })
    }
}

fn read(path: &Path) -> Result<Document, Failure> {
    let content = fs::read_to_string(path).map_err(|source| Failure::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Ok(Document::read(&path.to_string_lossy(), &content))
}

/// The map with the document's title. Files of one Go package share it: of their maps, the one that has most of the
/// document's sentences.
fn map_of<'a>(maps: &'a [Map], document: &Document) -> Result<&'a Map, Failure> {
    let digests: BTreeSet<&str> = document
        .sentences
        .iter()
        .map(|sentence| sentence.digest.as_str())
        .collect();
    let known = |map: &&Map| {
        let entries = map.sections.iter().flat_map(|section| &section.sentences);
        entries
            .filter(|entry| digests.contains(entry.digest.as_str()))
            .count()
    };
    let titled = maps.iter().filter(|map| map.titles.contains(&document.title));
    titled.max_by_key(known).ok_or_else(|| Failure::UnknownTitle {
        title: document.title.clone(),
        known: quoted(maps.iter().flat_map(|map| &map.titles)),
    })
}

/// The name of the text that was asked for, or that of the newest.
fn text_of<'a>(map: &'a Map, asked: Option<&str>) -> Result<&'a str, Failure> {
    let found = map
        .texts
        .iter()
        .rfind(|text| asked.is_none_or(|asked| text.name == asked));
    let found = found.map(|text| text.name.as_str());
    found.ok_or_else(|| Failure::UnknownText {
        document: map.document.clone(),
        text: asked.unwrap_or_default().to_owned(),
        known: quoted(map.texts.iter().map(|text| &text.name)),
    })
}

fn quoted<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names
        .map(|name| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn list_unmapped(map: &Map, text: &str, document: &Document, out: &mut dyn io::Write) -> io::Result<()> {
    let mapped: BTreeSet<(&str, &str)> = map
        .entries(text)
        .map(|(section, entry)| (section.section.as_str(), entry.digest.as_str()))
        .collect();
    for sentence in &document.sentences {
        let unmapped = !mapped.contains(&(sentence.section.as_str(), sentence.digest.as_str()));
        if sentence.keywords.is_empty() && unmapped {
            writeln!(out, "\nno keyword: {}\n{sentence}", sentence.section)?;
        }
    }
    Ok(())
}
