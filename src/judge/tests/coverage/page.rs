//! Writes `docs/coverage.md` from the maps.

use std::fmt::Write as _;

use judge::rules;

use super::{
    document::KEYWORDS,
    map::{Entry, Map, Section, Text},
};

const INTRODUCTION: &str = "\
# The documents, sentence by sentence

This page is made from `fixtures/documents` by `just coverage`. It lists each normative sentence of the documents that the suite
judges by: where it stands, its keywords, and the rules that judge it or the reason why none does. Sentences without a keyword
are listed where a rule builds on them. The sentences are their authors' and are not repeated here: each is known by the
first twelve digits of the SHA-256 of its text.

`ci/coverage DOCUMENT` compares a document with this map. It lists the sentences that are new, changed, moved or gone, and the
rules that they touch. A workflow does so each week with the newest texts.

A sentence ends at `.`, `?` or `!` before a word that does not begin in lower case. Headings, code blocks, HTML comments, tables of contents and
pictures are left out; each paragraph, list item and table cell is read by itself. Before the digest is taken, markup is
removed, quotes are made straight, white space becomes single spaces, and punctuation at the end goes. Case is kept: `must`
and `MUST` differ. Of a Go file, the comments are read, under the name of what they document.

`metav1.Condition` and KEP-2149 (the About API) are not mapped: the documents refer to them as a whole.
";

/// What follows the introduction, before the keywords.
const KEYWORDS_ARE: &str = "A sentence with one of these words, in any case, is normative";

/// The whole page.
pub fn page(maps: &[Map]) -> String {
    let keywords = KEYWORDS.join(", ");
    let mut page = format!("{INTRODUCTION}\n{KEYWORDS_ARE}: {keywords}.\n\n## Figures\n\n");
    page.push_str(
        "| Document | Text | Editions | Sentences with a keyword | Judged by a rule | With a reason only | Open | Without a keyword |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for map in maps {
        for text in &map.texts {
            page.push_str(&figures(map, text));
        }
    }
    for map in maps {
        page.push_str(&chapter(map));
    }
    page.push_str(&rules_without_sentence(maps));
    page
}

/// How many sentences of a text are judged, reasoned about or open.
fn figures(map: &Map, text: &Text) -> String {
    let entries: Vec<(&Section, &Entry)> = map.entries(&text.name).collect();
    let count = |counts: &dyn Fn(&Section, &Entry) -> bool| {
        let counted = entries.iter().filter(|(section, entry)| counts(section, entry));
        counted.count()
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        map.document,
        text.name,
        editions(text),
        count(&|_, entry| entry.keyword.is_some()),
        count(&|_, entry| entry.keyword.is_some() && !entry.rules.is_empty()),
        count(&|section, entry| {
            entry.keyword.is_some() && entry.rules.is_empty() && section.reason(entry).is_some()
        }),
        count(&|section, entry| entry.rules.is_empty() && section.reason(entry).is_none()),
        count(&|_, entry| entry.keyword.is_none()),
    )
}

fn editions(text: &Text) -> String {
    let names: Vec<&str> = text.editions.iter().map(|edition| edition.name()).collect();
    names.join(", ")
}

/// What the page says of one document.
fn chapter(map: &Map) -> String {
    let mut chapter = format!("\n## {}\n\n", map.document);
    for text in &map.texts {
        let _ = writeln!(
            chapter,
            "- `{}`: {}. For {}.",
            text.name,
            text.from,
            editions(text)
        );
    }
    if let Some(newest) = &map.newest {
        let _ = writeln!(chapter, "- The [newest text]({newest})");
    }
    if let Some(note) = &map.note {
        let _ = writeln!(chapter, "\n{note}");
    }
    chapter.push_str(
        "\n| Section | Keywords | Digest | Texts | Judged by, or why not |\n|---|---|---|---|---|\n",
    );
    for section in &map.sections {
        let mut heading = heading(section);
        for entry in &section.sentences {
            let _ = writeln!(
                chapter,
                "| {} | {} | `{}` | {} | {} |",
                std::mem::take(&mut heading),
                entry.keyword.as_deref().unwrap_or("–"),
                entry.digest,
                entry
                    .texts
                    .as_ref()
                    .map_or_else(|| "all".to_owned(), |texts| texts.join(", ")),
                answer(section, entry),
            );
        }
    }
    chapter
}

/// A section's headings, as a cell of a table.
fn heading(section: &Section) -> String {
    if section.section.is_empty() {
        return "(before the first section)".to_owned();
    }
    section.section.replace('|', "\\|")
}

/// The rules that judge a sentence, and the reason why none judges it, or not all of it.
fn answer(section: &Section, entry: &Entry) -> String {
    let rules: Vec<String> = entry.rules.iter().map(|rule| format!("`{rule}`")).collect();
    let reason = section.reason(entry).map(str::to_owned);
    let rules = Some(rules.join(", ")).filter(|rules| !rules.is_empty());
    rules.into_iter().chain(reason).collect::<Vec<_>>().join("; ")
}

/// The rules that no sentence is mapped to: all are derived, and their files tell the step.
fn rules_without_sentence(maps: &[Map]) -> String {
    let mut text = "\n## Rules without a sentence of their own\n\n\
         These follow from sections as a whole. `clusterprofile-conformance explain RULE` tells how.\n\n"
        .to_owned();
    let named = |rule: &str| {
        let mut entries = maps
            .iter()
            .flat_map(|map| &map.sections)
            .flat_map(|section| &section.sentences);
        entries.any(|entry| entry.rules.iter().any(|one| one == rule))
    };
    for rule in rules::all().iter().filter(|rule| !named(rule.id)) {
        let _ = writeln!(text, "- `{}`: {}", rule.id, rule.facts.source);
    }
    text
}
