//! The map of the documents: writes `docs/coverage.md` from `fixtures/documents`, or compares a document with its map.
//! `ci/coverage` runs it.

mod document;
mod map;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use document::{KEYWORDS, Sentence, sentences};
use judge::rules;
use map::{DocumentMap, MappedSentence, Section};

const USAGE: &str = "\
usage: ci/coverage                        writes docs/coverage.md
       ci/coverage MAP DOCUMENT [--all]   compares a Markdown or Go file with the newest text of fixtures/documents/MAP.yaml
  --all   list also the sentences that have neither a keyword nor an entry
exit: 0 no difference, 1 differences, 2 bad usage";

const INTRODUCTION: &str = include_str!("introduction.md");

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let differences = match &arguments[..] {
        [] => fs::write(in_repository("docs/coverage.md"), page(&DocumentMap::all()))
            .map(|()| 0)
            .map_err(|error| error.to_string()),
        [map, path] => compare_files(map, path, false),
        [map, path, flag] if flag == "--all" => compare_files(map, path, true),
        _ => Err(USAGE.to_owned()),
    };
    match differences {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
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

/// Prints how a document differs from its map, and returns the number of differences.
fn compare_files(map: &str, path: &str, lists_all: bool) -> Result<usize, String> {
    let map = DocumentMap::read(&in_repository(&format!("fixtures/documents/{map}.yaml")))?;
    let content = fs::read_to_string(path).map_err(|error| format!("failed to read {path}: {error}"))?;
    let (printed, differences) = compare(&map, &sentences(path, &content), lists_all)?;
    print!("{printed}");
    Ok(differences)
}

/// Compares a document with the newest text of its map, and returns what to print and the number of differences.
fn compare(map: &DocumentMap, document: &[Sentence], lists_all: bool) -> Result<(String, usize), String> {
    let text = &map.texts.last().ok_or("the map has no text")?.name;
    let mut printed = format!("{}, compared with its text {text}\n", map.document);
    let mut differences = 0;
    let mut rules: BTreeSet<&str> = BTreeSet::new();
    let mut unmapped: Vec<&Sentence> = document.iter().collect();
    for (section, entry) in map.all_entries().filter(|(_, entry)| entry.is_in(text)) {
        let (path, digest) = (&*section.section, &*entry.digest);
        let keywords = entry.keyword.as_deref().unwrap_or_default();
        let is_other = |sentence: &Sentence| {
            (&*sentence.section, &*sentence.digest, &*sentence.keywords) != (path, digest, keywords)
        };
        if document.iter().all(is_other) {
            differences += 1;
            rules.extend(entry.rules.iter().map(String::as_str));
            let answer = answer(section, entry);
            printed.push_str(&format!(
                "\nonly in the map: {path}\n    {digest}, {keywords:?}: {answer}\n"
            ));
        }
        unmapped.retain(|sentence| is_other(sentence));
    }
    unmapped.retain(|sentence| lists_all || !sentence.keywords.is_empty());
    for sentence in unmapped {
        let (section, line, text) = (&sentence.section, sentence.line, &sentence.text);
        let (digest, keywords) = (&sentence.digest, &sentence.keywords);
        printed.push_str(&format!(
            "\nonly in the document: {section}\n    line {line}: {text}\n"
        ));
        printed.push_str(&format!("      - {{digest: \"{digest}\""));
        if !keywords.is_empty() {
            differences += 1;
            printed.push_str(&format!(", keyword: \"{keywords}\""));
        }
        printed.push_str("}\n");
    }
    let rules = Vec::from_iter(rules).join(", ");
    printed.push_str(&format!(
        "\ndifferences: {differences}; rules that they touch: {rules}\n"
    ));
    Ok((printed, differences))
}

/// The whole page.
fn page(maps: &[DocumentMap]) -> String {
    let keywords = KEYWORDS.replace('|', ", ");
    let mut page = format!(
        "{INTRODUCTION}\nA sentence with one of these words, in any case, is normative: {keywords}.\n"
    );
    for map in maps {
        chapter(&mut page, map);
    }
    page.push_str("\n## Rules without a sentence of their own\n\n");
    page.push_str(
        "These follow from sections as a whole. `clusterprofile-conformance explain RULE` says why.\n\n",
    );
    let entries = maps.iter().flat_map(DocumentMap::all_entries);
    let ids = entries.flat_map(|(_, entry)| &entry.rules);
    let ids: BTreeSet<&str> = ids.map(String::as_str).collect();
    for rule in rules::all().iter().filter(|rule| !ids.contains(rule.id)) {
        let _ = writeln!(page, "- `{}`: {}", rule.id, rule.facts.first().source);
    }
    page
}

/// What the page says of one document.
fn chapter(page: &mut String, map: &DocumentMap) {
    let _ = writeln!(page, "\n## {}\n", map.document);
    for text in &map.texts {
        let _ = writeln!(page, "- `{}`: {}. For {}.", text.name, text.from, text.editions());
    }
    if let Some(newest) = &map.newest {
        let _ = writeln!(page, "- The [newest text]({newest})");
    }
    if let Some(note) = &map.note {
        let _ = writeln!(page, "\n{note}");
    }
    page.push_str(
        "\n| Section | Keywords | Digest | Texts | Judged by, or why not |\n|---|---|---|---|---|\n",
    );
    for section in &map.sections {
        let mut heading = match section.section.as_str() {
            "" => "(before the first section)".to_owned(),
            path => path.replace('|', "\\|"),
        };
        for entry in &section.sentences {
            let (digest, answer) = (&entry.digest, answer(section, entry));
            let keyword = entry.keyword.as_deref().unwrap_or("–");
            let texts = entry
                .texts
                .as_ref()
                .map_or("all".to_owned(), |texts| texts.join(", "));
            let _ = writeln!(
                page,
                "| {heading} | {keyword} | `{digest}` | {texts} | {answer} |"
            );
            heading.clear();
        }
    }
}

/// The rules that judge a sentence, and the reason why none judges it, or not all of it.
fn answer(section: &Section, entry: &MappedSentence) -> String {
    let rules: Vec<String> = entry.rules.iter().map(|rule| format!("`{rule}`")).collect();
    match section.reason(entry) {
        Some(reason) if rules.is_empty() => reason.to_owned(),
        Some(reason) => format!("{}; {reason}", rules.join(", ")),
        None => rules.join(", "),
    }
}
