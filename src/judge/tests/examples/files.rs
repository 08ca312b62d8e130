//! What all rule files have in common.

use std::path::{Path, PathBuf};

use evidence::api::Role;
use judge::{rules, rules::Rule};

use crate::is_headline;

#[test]
fn every_rule_file_is_registered_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let within = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("it can be listed").path())
    };
    let roles = within(root.join("suites"));
    // Next to the roles is the file of the engine's examples.
    let roles = roles.filter(|path| path.is_dir());
    let files = roles.flat_map(within).flat_map(within).map(|path| {
        let path = path.strip_prefix(root).expect("it is below");
        path.to_string_lossy().replace('\\', "/")
    });
    let mut files: Vec<String> = files.collect();
    files.sort();
    let mut registered: Vec<String> = rules::all().iter().map(Rule::file).collect();
    registered.sort();
    assert_eq!(registered, files);
}

#[test]
fn the_id_of_a_rule_tells_its_role() {
    for rule in rules::all() {
        assert_eq!(Role::of_rule(rule.id), rule.role(), "{}", rule.id);
    }
}

#[test]
fn facts_are_complete_and_read_alike() {
    for rule in rules::all() {
        let (id, facts) = (rule.id, &rule.facts);
        let sources = facts.editions.iter().map(|applies| &applies.source);
        let reasonings = facts
            .editions
            .iter()
            .filter_map(|applies| applies.reasoning.as_ref());
        for text in [&facts.title, &facts.remedy]
            .into_iter()
            .chain(sources)
            .chain(reasonings)
        {
            assert!(!text.contains("TODO"), "{}: fill in `{text}`", rule.file());
        }
        // A field is written as the API does.
        let names_field = |word: &str| word.contains('.') || word.contains(char::is_uppercase);
        let begins_with_field = facts.title.split(' ').next().is_some_and(names_field);
        let is_wrong = |first: char| first.is_lowercase() && !begins_with_field;
        assert!(is_headline(&facts.title, is_wrong), "{id}: title");
        assert!(facts.title.len() <= 100, "{id}: the title is long");
        assert!(
            facts.remedy.ends_with('.') && facts.remedy.starts_with(char::is_uppercase),
            "{id}: the remedy is a sentence"
        );
        assert!(
            facts
                .editions
                .iter()
                .all(|applies| applies.source.contains(" › ")),
            "{id}: source names document and section"
        );
        assert_eq!(facts.unjudged, None, "{id}: there is a function that can tell");
        let (first, last) = (facts.editions.first(), facts.editions.last());
        assert_eq!(
            first.map(|applies| applies.edition),
            Some(facts.since),
            "{id}: since"
        );
        assert!(
            facts.until.is_none() || last.map(|applies| applies.edition) == facts.until,
            "{id}: until"
        );
        assert!(
            !(facts.needs.is_empty() && facts.needs_one_of.is_empty()),
            "{id}: needs no evidence"
        );
    }
}
