use evidence::api::Edition;
use serde_json::{Value, json};

use super::*;
use crate::rules;

fn refusal(example: Value) -> String {
    Example::parse(&example, Edition::Standard)
        .expect_err("no world")
        .to_string()
}

#[test]
fn what_is_not_understood_is_refused() {
    let cases = [
        (json!({"name": "e", "passes": [{"metadatas": {}}], "x": 1}), "`x`"),
        (
            json!({"name": "e", "passes": [{"metadata": {"label": {"a": "b"}}}]}),
            "metadata.label`",
        ),
        (
            json!({"name": "e", "passes": [{"status": {"conditions": [{"type": "Joined", "states": "True"}]}}]}),
            "status.conditions.0.states`",
        ),
        (json!({"name": "e", "passes": {"profile": [{}]}}), "`profile`"),
        (
            json!({"name": "e", "passes": {"secrets": [{"servers": "x"}]}}),
            "unknown key `secrets.0.servers`",
        ),
        (
            json!({"name": "e", "passes": {"requests": [{"codes": 4}]}}),
            "unknown key `requests.events.0.codes`",
        ),
        (json!({"name": "e", "passes": [], "fails": []}), "exactly one of"),
        (
            json!({"name": "e", "passes": [], "skipped": null}),
            "exactly one of",
        ),
        (json!({"name": "e", "passes": [], "findings": 1}), "`fails` only"),
        (
            json!({"name": "e", "passes": [{"spec": {"displayName": "${soon}"}}]}),
            "`${soon}`",
        ),
        (
            json!({"name": "e", "passes": [{"spec": {"displayName": "${CA lost}"}}]}),
            "`${CA lost}`",
        ),
        (
            json!({"name": "e", "passes": {"steps": [{"at": "1m", "delete": "b"}]}}),
            "no ClusterProfile default/b",
        ),
        (
            json!({"name": "e", "passes": {"steps": [{"at": "11m", "delete": "a"}]}}),
            "after the end",
        ),
        (
            json!({"name": "e", "passes": [{}, {}]}),
            "already is a ClusterProfile default/a",
        ),
    ];
    for (example, reason) in cases {
        let message = refusal(example);
        assert!(
            message.starts_with("failed to read the example `e`: "),
            "{message}"
        );
        assert!(message.contains(reason), "{message} does not name {reason}");
    }
}

/// Its words are in the rule's file or in the function.
#[test]
fn every_finding_on_an_example_has_a_message() {
    for rule in rules::all() {
        for example in Example::of(rule).expect("examples") {
            let findings = rule.findings(example.evidence());
            let mut findings = findings.list().iter();
            let has_words = findings.all(|finding| !finding.message.is_empty());
            assert!(has_words, "{}, example `{}`", rule.id, example.name);
        }
    }
}
