//! Evaluates rules that exist only for tests on the examples of `suites/engine.yaml`.
//!
//! These examples are about time, authors, scope, and the driver. The examples of a real rule are about its sentence.

#[path = "../../tests/support/mismatch.rs"]
mod mismatch;
mod rules;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use self::{mismatch::mismatch, rules::RULES};
use crate::{
    judging::judge_rule,
    rules::{Rule, example::Example},
};

/// The file of the examples. Each has the keys of an example in a rule's file, and `rule`.
const EXAMPLES: &str = include_str!("../../suites/engine.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFile {
    examples: Vec<Value>,
}

/// Each example with its rule.
fn examples() -> Vec<(&'static Rule, Example)> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let file: ExampleFile = serde_saphyr::from_str_with_options(EXAMPLES, options).expect("valid YAML");
    file.examples.into_iter().map(with_rule).collect()
}

/// Takes the key `rule` from an example, and finds that rule.
fn with_rule(mut text: Value) -> (&'static Rule, Example) {
    let id = text.as_object_mut().and_then(|example| example.remove("rule"));
    let rule = RULES.iter().find(|rule| id == Some(Value::from(rule.id)));
    let rule = rule.unwrap_or_else(|| panic!("{id:?} is not a test rule: {text}"));
    let example = Example::parse(&text, rule.facts.since);
    (
        rule,
        example.unwrap_or_else(|error| panic!("suites/engine.yaml: {error}")),
    )
}

#[test]
fn every_example_has_the_expected_verdict() {
    let mismatches: Vec<String> = examples()
        .iter()
        .filter_map(|(rule, example)| {
            let verdict = judge_rule(rule, example.evidence());
            let mismatch = mismatch(example, verdict.as_ref())?;
            Some(format!("{}, example `{}`: {mismatch}", rule.id, example.name))
        })
        .collect();
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}

#[test]
fn every_test_rule_has_examples_with_names_of_their_own() {
    let mut names = BTreeSet::new();
    for (rule, example) in examples() {
        let (id, name) = (rule.id, &example.name);
        assert!(
            names.insert((id, name.clone())),
            "{id}: two examples are named `{name}`"
        );
    }
    let used: BTreeSet<&str> = names.iter().map(|(id, _)| *id).collect();
    let defined: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(used, defined);
}
