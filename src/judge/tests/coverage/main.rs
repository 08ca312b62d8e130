//! The map of the documents: `docs/coverage.md` is made from `fixtures/documents`, names rules that exist, and leaves no
//! sentence without a rule or a reason.

mod compare;
mod document;
mod finding;
mod go;
mod map;
mod page;
mod tool;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use evidence::api::Edition;
use judge::rules::{self, Basis, Rule};
use map::{Entry, Map, Section, Text};

/// The longest reason, in words.
const LONGEST_REASON: usize = 25;

/// A path in the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// All sentences of all documents, each with its document and section.
fn all_entries(maps: &[Map]) -> impl Iterator<Item = (&Map, &Section, &Entry)> {
    maps.iter().flat_map(|map| {
        let sections = map.sections.iter();
        sections.flat_map(move |section| section.sentences.iter().map(move |entry| (map, section, entry)))
    })
}

/// The texts that have a sentence.
fn texts_of<'a>(map: &'a Map, entry: &'a Entry) -> impl Iterator<Item = &'a Text> {
    map.texts.iter().filter(|text| entry.is_in(&text.name))
}

/// What a rule's `source` names: a document and the path of a section.
#[derive(Debug, PartialEq, Eq)]
struct Citation<'a> {
    document: &'a str,
    path: String,
}

/// The citations of a source such as `KEP-4322 › Status › Version; Terminology (and more)`: a part that names no
/// document is of the one before it, and what stands in brackets is a remark.
fn citations<'a>(maps: &'a [Map], source: &str) -> Vec<Citation<'a>> {
    let known: Vec<&str> = maps
        .iter()
        .flat_map(|map| &map.cited)
        .map(String::as_str)
        .collect();
    let source = source.split(" (").next().unwrap_or(source);
    let mut document = "";
    let mut citations = Vec::new();
    for part in source.split("; ") {
        let of = known
            .iter()
            .find_map(|name| Some((*name, part.strip_suffix(&format!(" of {name}"))?)));
        let begins = known.iter().find_map(|name| {
            let rest = part.strip_prefix(name)?;
            Some((*name, rest.strip_prefix(" › ")?))
        });
        let (cited, path) = of.or(begins).unwrap_or((document, part));
        document = cited;
        let path = path.to_owned();
        citations.push(Citation { document, path });
    }
    citations
}

/// The sections that a citation means in the texts of an edition.
fn cited_sections<'a>(
    maps: &'a [Map],
    citation: &Citation,
    edition: Edition,
) -> Vec<(&'a Text, &'a Section)> {
    let maps = maps
        .iter()
        .filter(|map| map.cited.iter().any(|name| name == citation.document));
    maps.flat_map(|map| {
        let texts = map
            .texts
            .iter()
            .filter(move |text| text.editions.contains(&edition));
        texts.flat_map(|text| map.sections.iter().map(move |section| (text, section)))
    })
    .filter(|(text, section)| {
        let mut entries = section.sentences.iter();
        section.is_cited_as(&citation.path) && entries.any(|entry| entry.is_in(&text.name))
    })
    .collect()
}

/// Where a rule stands in an edition.
fn source_in(rule: &'static Rule, edition: Edition) -> Option<&'static str> {
    let applies = rule.facts.in_edition(edition)?;
    Some(applies.source.as_ref().unwrap_or(&rule.facts.source))
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_page_is_made_from_the_maps() {
    let made = page::page(&Map::all());
    let path = in_repository("docs/coverage.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let written = fs::read_to_string(&path).expect("the page is there");
    assert!(
        written == made,
        "docs/coverage.md is out of date: renew it with `just coverage`"
    );
}

#[test]
fn the_map_names_rules_that_exist() {
    let maps = Map::all();
    let named: BTreeSet<&str> = all_entries(&maps)
        .flat_map(|(.., entry)| &entry.rules)
        .map(String::as_str)
        .collect();
    let unknown: Vec<&&str> = named.iter().filter(|rule| rules::find(rule).is_none()).collect();
    assert!(unknown.is_empty(), "no such rules: {unknown:?}");
}

#[test]
fn every_sentence_has_rules_or_a_reason_in_each_of_its_texts() {
    let maps = Map::all();
    let mut problems = Vec::new();
    for (map, section, entry) in all_entries(&maps) {
        let reason = section.reason(entry);
        let words = reason.map_or(0, |reason| reason.split_whitespace().count());
        let place = format!("{} › {}, {}", map.document, section.section, entry.digest);
        if words > LONGEST_REASON {
            problems.push(format!("{place}: the reason has {words} words"));
        }
        for text in texts_of(map, entry) {
            let judges = |rule: &String| {
                let mut editions = text.editions.iter();
                rules::find(rule)
                    .is_some_and(|rule| editions.any(|edition| rule.facts.in_edition(*edition).is_some()))
            };
            if reason.is_none() && !entry.rules.iter().any(judges) {
                problems.push(format!(
                    "{place}: nothing judges it in text {}, and there is no reason",
                    text.name
                ));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn a_sentence_has_one_entry_in_a_text() {
    let maps = Map::all();
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for (map, section, entry) in all_entries(&maps) {
        let place = format!("{} › {}, {}", map.document, section.section, entry.digest);
        if !(entry.digest.len() == 12 && entry.digest.chars().all(|one| one.is_ascii_hexdigit())) {
            problems.push(format!("{place}: no digest"));
        }
        for name in entry.texts.iter().flatten() {
            if !map.texts.iter().any(|text| text.name == *name) {
                problems.push(format!("{place}: no text {name:?}"));
            }
        }
        for text in texts_of(map, entry) {
            if !seen.insert((&map.document, &section.section, &entry.digest, &text.name)) {
                problems.push(format!("{place}: twice in text {}", text.name));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn rules_cite_sections_that_are_mapped_and_explicit_ones_a_sentence() {
    let maps = Map::all();
    let mut problems = Vec::new();
    for rule in rules::all() {
        for edition in Edition::ALL {
            let Some(source) = source_in(rule, edition) else {
                continue;
            };
            let place = format!("{} in edition {}", rule.id, edition.name());
            let mut named = false;
            for citation in citations(&maps, source) {
                let sections = cited_sections(&maps, &citation, edition);
                if sections.is_empty() {
                    problems.push(format!("{place} cites what is not mapped: {citation:?}"));
                }
                named |= sections.iter().any(|(text, section)| {
                    let mut entries = section.sentences.iter().filter(|entry| entry.is_in(&text.name));
                    entries.any(|entry| entry.rules.iter().any(|one| one == rule.id))
                });
            }
            if rule.facts.basis == Basis::Explicit && !named {
                problems.push(format!(
                    "{place} is explicit, and no sentence of what it cites names it: {source}"
                ));
            }
        }
    }
    assert_none(&problems);
}

/// The keywords of the sentences that a rule cites, in the order of the documents.
fn keywords_of(maps: &[Map], rule: &'static Rule) -> Vec<String> {
    let mut keywords: Vec<String> = Vec::new();
    for edition in Edition::ALL {
        for citation in source_in(rule, edition).map_or_else(Vec::new, |source| citations(maps, source)) {
            for (text, section) in cited_sections(maps, &citation, edition) {
                let entries = section.sentences.iter().filter(|entry| entry.is_in(&text.name));
                let naming = entries.filter(|entry| entry.rules.iter().any(|one| one == rule.id));
                let words = naming.flat_map(|entry| entry.keyword.as_deref().unwrap_or_default().split(", "));
                for word in words.filter(|word| !word.is_empty()) {
                    if !keywords.iter().any(|known| known == word) {
                        keywords.push(word.to_owned());
                    }
                }
            }
        }
    }
    keywords
}

#[test]
fn rules_quote_the_keywords_of_the_sentences_that_they_cite() {
    let maps = Map::all();
    let wrong = rules::all().iter().filter_map(|rule| {
        let expected = keywords_of(&maps, rule);
        let quoted = serde_json::to_string(&expected).expect("JSON");
        (rule.facts.keywords != expected).then(|| format!("{}: keywords: {quoted}", rule.id))
    });
    assert_none(&wrong.collect::<Vec<_>>());
}

#[test]
fn the_workflow_reads_the_newest_text_of_each_document() {
    let workflow =
        fs::read_to_string(in_repository(".github/workflows/coverage.yaml")).expect("the workflow");
    for newest in Map::all().iter().filter_map(|map| map.newest.as_ref()) {
        assert!(workflow.contains(newest), "the workflow does not read {newest}");
    }
}

#[test]
fn the_comparison_with_the_upstream_suite_tells_the_rules_as_they_are() {
    let page = fs::read_to_string(in_repository("docs/upstream-suite.md")).expect("the page");
    let mut compared = 0;
    for row in page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
    {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [_, _, rule, level, ..] = cells[..] else {
            panic!("no row of the table: {row}");
        };
        let Some(rule) = rules::find(rule.trim_matches('`')) else {
            assert_eq!(rule, "none", "no such rule: {row}");
            continue;
        };
        assert_eq!(level, rule.facts.level.name(), "{row}");
        compared += 1;
    }
    assert!(compared > 0, "no row of the table names a rule");
}
