//! No rule reads by itself what the evidence shows of time and authors.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What only the engine reads: gaps, delays of a watch, clocks, managedFields, senders of requests, and configured names.
const WORDS: [&str; 14] = [
    "gaps(",
    "gaps_of(",
    "gap_around(",
    "known_skew(",
    "LATE",
    ".writers",
    "Writer",
    ".user_agent",
    "request.user",
    ".field_managers",
    "has_field_manager(",
    "has_user(",
    "claim.cluster_manager",
    "claim.scheduler",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn rules_leave_time_and_authors_to_the_engine() {
    assert_eq!(readers(&WORDS), BTreeSet::new());
}

/// The files above this module that have any of the words in their code.
fn readers(words: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["subjects", "rules"] {
        sources(&root.join(folder), &mut files);
    }
    let reads = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("a source file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.any(|line| words.iter().any(|word| has(line, word)))
    };
    let found = files.iter().filter(|path| reads(path));
    let names = found.map(|path| path.strip_prefix(root).expect("a file of this crate"));
    let names = names.map(|path| path.to_string_lossy().replace('\\', "/"));
    let is_rule = |name: &String| !name.starts_with("rules/example/");
    names.filter(is_rule).collect()
}

/// Whether a line has the word, not as a part of a longer one.
fn has(line: &str, word: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut places = line.match_indices(word);
    places.any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        (word.starts_with('.') || !before.ends_with(is_of_word))
            && (word.ends_with('(') || !after.starts_with(is_of_word))
    })
}
