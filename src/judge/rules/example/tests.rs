use evidence::api::Edition;
use serde_json::Value;

use super::*;

fn refusal(text: &str) -> String {
    let example: Value = serde_saphyr::from_str(&format!("{{name: e, {text}}}")).expect("YAML");
    let result = Example::parse(&example, Edition::Standard);
    result.expect_err("no world").to_string()
}

#[test]
fn what_is_not_understood_is_refused() {
    for (example, reason) in [
        ("passes: [{metadatas: {}}], x: 1", "`x`"),
        ("passes: [{metadata: {label: {a: b}}}]", "metadata.label`"),
        (
            "passes: [{status: {conditions: [{type: Joined, states: 'True'}]}}]",
            "status.conditions.0.states`",
        ),
        ("passes: {profile: [{}]}", "`profile`"),
        (
            "passes: {secrets: [{servers: x}]}",
            "unknown key `secrets.0.servers`",
        ),
        (
            "passes: {requests: [{codes: 4}]}",
            "unknown key `requests.events.0.codes`",
        ),
        ("passes: [], fails: []", "exactly one of"),
        ("passes: [], skipped: null", "exactly one of"),
        ("passes: [], findings: 1", "`fails` only"),
        ("passes: [{spec: {displayName: '${soon}'}}]", "`${soon}`"),
        ("passes: [{spec: {displayName: '${CA lost}'}}]", "`${CA lost}`"),
        (
            "passes: {steps: [{at: 1m, delete: b}]}",
            "no ClusterProfile default/b",
        ),
        ("passes: {steps: [{at: 11m, delete: a}]}", "after the end"),
        ("passes: [{}, {}]", "already is a ClusterProfile default/a"),
    ] {
        let message = refusal(example);
        assert!(
            message.starts_with("failed to read the example `e`: "),
            "{message}"
        );
        assert!(message.contains(reason), "{message} does not name {reason}");
    }
}
