//! Writes `docs/coverage.md` from the maps.

use std::fmt::Write as _;

use judge::rules;

use super::{
    document::KEYWORDS,
    map::{Entry, Map, Section},
};

const INTRODUCTION: &str = "\
# The documents, sentence by sentence

This page is made from `fixtures/documents` by `just coverage`. It lists each normative sentence of the documents that the suite
judges by: where it stands, its keywords, and the rules that judge it or the reason why none does. Sentences without a keyword
are listed where a rule builds on them. The sentences are their authors' and are not repeated here: each is known by the
first twelve digits of the SHA-256 of its text.

`ci/coverage MAP DOCUMENT` compares a document with its map. It lists the sentences that only one of them has, and the rules that
they touch. A workflow does so each week with the newest texts.

A sentence ends at `.`, `?` or `!` before a word that does not begin in lower case. Headings, code blocks, HTML comments, tables of contents and
pictures are left out; each paragraph, list item and table cell is read by itself. Before the digest is taken, markup is
removed, quotes are made straight, white space becomes single spaces, and punctuation at the end goes. Case is kept: `must`
and `MUST` differ. Of a Go file, the comments are read, under the name of what they document.

`metav1.Condition` is not mapped: the documents refer to it as a whole.
";

/// The whole page.
pub fn page(maps: &[Map]) -> String {
    let keywords = KEYWORDS.replace('|', ", ");
    let mut page = format!(
        "{INTRODUCTION}\nA sentence with one of these words, in any case, is normative: {keywords}.\n"
    );
    for map in maps {
        chapter(&mut page, map);
    }
    page.push_str("\n## Rules without a sentence of their own\n\n");
    page.push_str(
        "These follow from sections as a whole. `clusterprofile-conformance explain RULE` tells how.\n\n",
    );
    let entries = || maps.iter().flat_map(Map::all_entries);
    for rule in rules::all() {
        if !entries().any(|(_, entry)| entry.names(rule.id)) {
            let _ = writeln!(page, "- `{}`: {}", rule.id, rule.facts.first().source);
        }
    }
    page
}

/// What the page says of one document.
fn chapter(page: &mut String, map: &Map) {
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
            let keyword = entry.keyword.as_deref().unwrap_or("–");
            let texts = entry
                .texts
                .as_ref()
                .map_or_else(|| "all".to_owned(), |texts| texts.join(", "));
            let answer = answer(section, entry);
            let _ = writeln!(
                page,
                "| {heading} | {keyword} | `{}` | {texts} | {answer} |",
                entry.digest
            );
            heading.clear();
        }
    }
}

/// The rules that judge a sentence, and the reason why none judges it, or not all of it.
pub fn answer(section: &Section, entry: &Entry) -> String {
    let rules = entry
        .rules
        .iter()
        .map(|rule| format!("`{rule}`"))
        .collect::<Vec<_>>()
        .join(", ");
    let parts = [Some(rules), section.reason(entry).map(str::to_owned)];
    let told = parts.into_iter().flatten().filter(|part| !part.is_empty());
    told.collect::<Vec<_>>().join("; ")
}
