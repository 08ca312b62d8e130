//! Each sentence of the documents has rules or a reason, each rule a sentence, and the page is that of the map. What the
//! reader of documents takes for a sentence.

use std::{collections::BTreeSet, fs};

use evidence::api::Edition;
use judge::rules::{self, Basis, Rule};

use super::{
    document::{DIGITS, sentences},
    in_repository,
    map::{DocumentMap, DocumentText, MappedSentence, Section},
    page,
};

#[test]
fn the_page_is_that_of_the_map() {
    let written = fs::read_to_string(in_repository("docs/coverage.md")).expect("the page");
    assert!(
        written == page(&DocumentMap::all()),
        "docs/coverage.md is out of date: renew it with `just coverage`"
    );
}

#[test]
fn every_sentence_has_rules_or_a_reason_once_in_each_of_its_texts() {
    let mut problems = Vec::new();
    for map in &DocumentMap::all() {
        let mut seen = BTreeSet::new();
        for (section, entry) in map.all_entries() {
            let place = format!("{} › {}, {}", map.document, section.section, entry.digest);
            if entry.digest.len() != DIGITS || entry.texts.iter().flatten().any(|name| !has_text(map, name)) {
                problems.push(format!("{place}: no digest, or no text of the document"));
            }
            for rule in entry.rules.iter().filter(|rule| rules::find(rule).is_none()) {
                problems.push(format!("{place}: no rule {rule}"));
            }
            for text in map.texts.iter().filter(|text| entry.is_in(&text.name)) {
                if !seen.insert((&section.section, &entry.digest, &text.name)) {
                    problems.push(format!("{place}: twice in text {}", text.name));
                }
                let is_judged = entry.rules.iter().any(|rule| is_judged_by(text, rule));
                if section.reason(entry).is_none() && !is_judged {
                    problems.push(format!("{place}: neither rule nor reason in text {}", text.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn has_text(map: &DocumentMap, name: &str) -> bool {
    map.texts.iter().any(|text| text.name == name)
}

/// Whether an edition that judges by the text has the rule.
fn is_judged_by(text: &DocumentText, rule: &str) -> bool {
    rules::find(rule).is_some_and(|rule| {
        let mut editions = rule.facts.editions.iter();
        editions.any(|applies| text.is_of(applies.edition))
    })
}

/// The state of a rule in an edition.
fn source_in(rule: &'static Rule, edition: Edition) -> Option<&'static str> {
    Some(&rule.facts.in_edition(edition)?.source)
}

/// The documents and paths that a source cites, for example `KEP-4322 › Status › Version; Terminology (and more)`: a part that
/// names no document is of the one before it, and text in brackets is a remark.
fn citations<'a>(maps: &'a [DocumentMap], source: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut document = "";
    let parts = source.split(" (").next().unwrap_or(source).split("; ");
    let cited = parts.map(|part| {
        let mut names = maps.iter().flat_map(|map| &map.cited);
        let found = names.find_map(|name| {
            let before = part
                .strip_prefix(name.as_str())
                .and_then(|rest| rest.strip_prefix(" › "));
            let behind = part
                .strip_suffix(name.as_str())
                .and_then(|rest| rest.strip_suffix(" of "));
            Some((name.as_str(), before.or(behind)?))
        });
        let (name, path) = found.unwrap_or((document, part));
        document = name;
        (name, path)
    });
    cited.collect()
}

/// Whether a rule means the section, or a part of it, by a path of headings.
fn is_cited_as(section: &Section, path: &str) -> bool {
    let own = std::slice::from_ref(&section.section);
    let names = if section.cited.is_empty() {
        own
    } else {
        &section.cited
    };
    let mut rests = names.iter().filter_map(|name| name.strip_prefix(path));
    rests.any(|rest| rest.is_empty() || rest.starts_with(" › "))
}

/// The sentences of the sections that a citation means in the texts of an edition.
fn cited<'a>(
    maps: &'a [DocumentMap],
    (document, path): (&str, &str),
    edition: Edition,
) -> Vec<&'a MappedSentence> {
    let maps = maps
        .iter()
        .filter(|map| map.cited.iter().any(|name| name == document));
    let texts = maps.flat_map(|map| map.texts.iter().map(move |text| (map, text)));
    let texts = texts.filter(|(_, text)| text.is_of(edition));
    let entries =
        texts.flat_map(|(map, text)| map.all_entries().filter(|(_, entry)| entry.is_in(&text.name)));
    let entries = entries.filter(|(section, _)| is_cited_as(section, path));
    entries.map(|(_, entry)| entry).collect()
}

#[test]
fn rules_cite_sections_and_quote_the_keywords_of_their_sentences_there() {
    let maps = DocumentMap::all();
    let mut problems = Vec::new();
    for rule in rules::all() {
        let mut keywords: Vec<&str> = Vec::new();
        for edition in Edition::ALL {
            let Some(source) = source_in(rule, edition) else {
                continue;
            };
            let mut is_named = false;
            for citation in citations(&maps, source) {
                let entries = cited(&maps, citation, edition);
                if entries.is_empty() {
                    problems.push(format!("{} cites what is not mapped: {citation:?}", rule.id));
                }
                for entry in entries
                    .into_iter()
                    .filter(|entry| entry.rules.iter().any(|named| named == rule.id))
                {
                    is_named = true;
                    keywords.extend(entry.keyword.iter().flat_map(|words| words.split(", ")));
                }
            }
            if rule
                .facts
                .in_edition(edition)
                .is_some_and(|applies| applies.basis == Basis::Explicit)
                && !is_named
            {
                problems.push(format!(
                    "{} is explicit, and no sentence of {source} names it",
                    rule.id
                ));
            }
        }
        let mut seen = BTreeSet::new();
        keywords.retain(|keyword| seen.insert(*keyword));
        if rule.facts.keywords != keywords {
            problems.push(format!("{}: keywords: {keywords:?}", rule.id));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Compares the sections and texts of a document's sentences.
fn assert_sentences(name: &str, text: &str, expected: &[(&str, &str)]) {
    let found = sentences(name, text);
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|sentence| (&*sentence.section, &*sentence.text))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn prose_is_cut_into_sentences_under_their_headings() {
    let text = "\
# The birds

<!-- toc -->
- [Songs must be loud](#songs)
<!-- /toc -->
A bird sings. Each song, e.g. that of
a *finch*, MUST be heard! ![a song](song.svg)

## Songs
<!-- It must not be read. -->
```yaml
must: never be read
```
### Loud ones
- **Owl**: a bird of the night. It may hoot.
  - It needs to see `mice.` in the dark
- [x] a finch

| when | what |
|---|---|
| at noon | It SHOULD rest. |

## Nests
> A nest is “round”: it shall hold.
";
    let loud = "Songs › Loud ones";
    let expected = [
        ("", "A bird sings"),
        ("", "Each song, e.g. that of a finch, MUST be heard!"),
        ("Songs › Loud ones › Owl", "Owl: a bird of the night"),
        ("Songs › Loud ones › Owl", "It may hoot"),
        (loud, "It needs to see mice. in the dark"),
        (loud, "a finch"),
        (loud, "when"),
        (loud, "what"),
        (loud, "at noon"),
        (loud, "It SHOULD rest"),
        ("Nests", "A nest is \"round\": it shall hold"),
    ];
    assert_sentences("birds.md", text, &expected);
}

#[test]
fn comments_of_go_stand_under_what_they_document() {
    let text = "\
/*
Licensed to the birds.
*/

package birds

// A Bird sings.
// It must have a name.
type Bird struct {
\t// Name is immutable.
\t// +required
\tName string `json:\"name\"`

\tAge int
}

const (
\t// Loud is how
\t// a finch sings.
\tLoud = \"loud\"
)
";
    let expected = [
        ("Bird", "A Bird sings"),
        ("Bird", "It must have a name"),
        ("Bird.Name", "Name is immutable"),
        ("Loud", "Loud is how a finch sings"),
    ];
    assert_sentences("birds.go", text, &expected);
}
