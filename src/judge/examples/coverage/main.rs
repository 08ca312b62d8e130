//! The map of the documents: writes `docs/coverage.md` from `fixtures/documents`, or compares a document with its map.
//! `ci/coverage` runs it.

mod document;
mod go;
mod map;
mod page;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    env,
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use document::{Document, Sentence};
use map::{Map, Text};

const USAGE: &str = "\
usage: ci/coverage [DOCUMENT [--text NAME] [--all]]
  DOCUMENT     a Markdown file, or a Go file; its title tells which document it is. Without it, writes docs/coverage.md
  --text NAME  compare it with this text of the document, not with the newest that is mapped
  --all        list also the sentences that have neither a keyword nor an entry
exit: 0 no difference, 1 differences, 2 bad usage";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let maps = Map::all();
    let done = match &arguments[..] {
        [] => fs::write(in_repository("docs/coverage.md"), page::page(&maps))
            .map(|()| (String::new(), 0))
            .map_err(|error| format!("failed to write docs/coverage.md: {error}")),
        [document, flags @ ..] => compare(&maps, document, flags),
    };
    match done {
        Ok((told, differences)) => {
            print!("{told}");
            ExitCode::from(u8::from(differences > 0))
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

/// A path in the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares a document with its map, and returns what to print and the number of differences.
fn compare(maps: &[Map], path: &str, flags: &[String]) -> Result<(String, usize), String> {
    let (mut asked, mut lists_all) = (None, false);
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match flag.as_str() {
            "--text" => asked = Some(flags.next().ok_or(USAGE)?),
            "--all" => lists_all = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let content = fs::read_to_string(path).map_err(|error| format!("failed to read {path}: {error}"))?;
    let document = Document::read(path, &content);
    let map = map_of(maps, &document)?;
    let text = text_of(map, asked)?;
    let mut told = format!("{path}: {}, compared with its text {}\n", map.document, text.name);

    let mut differences = 0;
    let mut rules: BTreeSet<&str> = BTreeSet::new();
    let mut unmapped: Vec<&Sentence> = document.sentences.iter().collect();
    for (section, entry) in map.entries(&text.name) {
        let keywords = entry.keyword.as_deref().unwrap_or_default();
        let is_entry = |sentence: &&Sentence| {
            sentence.section == section.section
                && sentence.digest == entry.digest
                && sentence.keywords == keywords
        };
        if !document.sentences.iter().any(|sentence| is_entry(&sentence)) {
            differences += 1;
            rules.extend(entry.rules.iter().map(String::as_str));
            let answer = page::answer(section, entry);
            let _ = writeln!(
                told,
                "\nonly in the map: {}\n    {}, {keywords:?}: {answer}",
                section.section, entry.digest
            );
        }
        unmapped.retain(|sentence| !is_entry(sentence));
    }
    for sentence in unmapped {
        let is_normative = !sentence.keywords.is_empty();
        differences += usize::from(is_normative);
        if is_normative || lists_all {
            let _ = writeln!(told, "\nonly in the document: {}\n{sentence}", sentence.section);
        }
    }
    let rules = Vec::from_iter(rules).join(", ");
    let _ = writeln!(
        told,
        "\ndifferences: {differences}; rules that they touch: {rules}"
    );
    Ok((told, differences))
}

/// The sentence where it stands, and the entry that it would have.
impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    line {}: {}", self.line, self.text)?;
        write!(f, "      - {{digest: \"{}\"", self.digest)?;
        if !self.keywords.is_empty() {
            write!(f, ", keyword: \"{}\"", self.keywords)?;
        }
        f.write_str("}")
    }
}

/// The map with the document's title. Files of one Go package share it: of their maps, the one that has most of the
/// document's sentences.
fn map_of<'a>(maps: &'a [Map], document: &Document) -> Result<&'a Map, String> {
    let digests: BTreeSet<&str> = document
        .sentences
        .iter()
        .map(|sentence| &*sentence.digest)
        .collect();
    let titled = maps.iter().filter(|map| map.titles.contains(&document.title));
    let known = |map: &&Map| {
        let entries = map.sections.iter().flat_map(|section| &section.sentences);
        entries.filter(|entry| digests.contains(&*entry.digest)).count()
    };
    titled
        .max_by_key(known)
        .ok_or_else(|| format!("no map has the title {:?}", document.title))
}

/// The text of that name, or the newest.
fn text_of<'a>(map: &'a Map, asked: Option<&String>) -> Result<&'a Text, String> {
    let mut texts = map.texts.iter().rev();
    texts
        .find(|text| asked.is_none_or(|asked| text.name == *asked))
        .ok_or_else(|| {
            let known: Vec<&str> = map.texts.iter().map(|text| &*text.name).collect();
            format!("{} has these texts: {}", map.document, known.join(", "))
        })
}
