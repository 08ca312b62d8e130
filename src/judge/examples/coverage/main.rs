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

use document::{Sentence, sentences};
use map::Map;

const USAGE: &str = "\
usage: ci/coverage                                      writes docs/coverage.md
       ci/coverage MAP DOCUMENT [--text NAME] [--all]   compares a document with fixtures/documents/MAP.yaml
  DOCUMENT     a Markdown file, or a Go file
  --text NAME  compare it with this text of the map, not with the newest
  --all        list also the sentences that have neither a keyword nor an entry
exit: 0 no difference, 1 differences, 2 bad usage";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Returns the number of differences.
fn run(arguments: &[String]) -> Result<usize, String> {
    let [map, path, flags @ ..] = arguments else {
        if !arguments.is_empty() {
            return Err(USAGE.to_owned());
        }
        let written = fs::write(in_repository("docs/coverage.md"), page::page(&Map::all()));
        return written.map(|()| 0).map_err(|error| error.to_string());
    };
    let (mut text, mut lists_all) = (None, false);
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match flag.as_str() {
            "--text" => text = Some(flags.next().ok_or(USAGE)?.as_str()),
            "--all" => lists_all = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let map = Map::read(&in_repository(&format!("fixtures/documents/{map}.yaml")))?;
    let content = fs::read_to_string(path).map_err(|error| format!("failed to read {path}: {error}"))?;
    let (told, differences) = compare(&map, &sentences(path, &content), text, lists_all)?;
    print!("{told}");
    Ok(differences)
}

/// A path in the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares a document with a text of its map, and returns what to print and the number of differences.
fn compare(
    map: &Map,
    document: &[Sentence],
    text: Option<&str>,
    lists_all: bool,
) -> Result<(String, usize), String> {
    let mut texts = map.texts.iter().rev().map(|text| &*text.name);
    let text = texts
        .find(|name| text.is_none_or(|text| text == *name))
        .ok_or("the map has no such text")?;
    let mut told = format!("{}, compared with its text {text}\n", map.document);
    let mut differences = 0;
    let mut rules: BTreeSet<&str> = BTreeSet::new();
    let mut unmapped: Vec<&Sentence> = document.iter().collect();
    for (section, entry) in map.entries(text) {
        let keywords = entry.keyword.as_deref().unwrap_or_default();
        let others = |sentence: &&Sentence| {
            let place = (&*sentence.section, &*sentence.digest, &*sentence.keywords);
            place != (&section.section, &entry.digest, keywords)
        };
        if document.iter().all(|sentence| others(&sentence)) {
            differences += 1;
            rules.extend(entry.rules.iter().map(String::as_str));
            let (section, digest, answer) = (&section.section, &entry.digest, page::answer(section, entry));
            let _ = writeln!(
                told,
                "\nonly in the map: {section}\n    {digest}, {keywords:?}: {answer}"
            );
        }
        unmapped.retain(others);
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
