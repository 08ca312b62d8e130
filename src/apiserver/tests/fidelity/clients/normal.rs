//! Normalizes output: replaces what differs from run to run.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Patterns and their replacements, applied in this order.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "UID",
        ),
        // RFC 3339, and the formats of `diff` and of `describe`.
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?",
            "TIME",
        ),
        (
            r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
            "TIME",
        ),
        (r#"((?i:resource ?version)"?: *)"?\d+"?"#, "${1}VERSION"),
        (r"\b127\.0\.0\.1:\d+", "SERVER"),
        (r"\bv1\.\d+\.\d+\b", "RELEASE"),
        // kubectl may or may not log the end of a watch that it timed out itself.
        (r"(?m)^[EIW]\d{4} .* reflector\.go:.*\n", ""),
        // A line of the client's own log.
        (r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
        // Files of `diff` and `edit`, names of Events, generated names.
        (r"\S*/(LIVE|MERGED)-\d+", "$1"),
        (r"\S*/kubectl-edit-\d+", "kubectl-edit"),
        (r"\.[0-9a-f]{16}\b", ".SERIAL"),
        (r"\bgenerated-[a-z0-9]{5}\b", "generated-NAME"),
        (r"\b(?:\d+[dhms]|\d+ms)(?:\d+[hms])?\b", "AGE"),
        // The width of columns depends on what was replaced.
        (r"(\S) {2,}", "$1  "),
        (r"(?m) +$", ""),
    ];
    let compiled = patterns.map(|(pattern, place)| (Regex::new(pattern).expect("a pattern"), place));
    compiled.into()
});

/// Sorts the kinds of a group's version: the real API server lists them in varying order.
fn sort_kinds(value: &mut Value) {
    if value["kind"] == "APIResourceList"
        && let Some(kinds) = value["resources"].as_array_mut()
    {
        kinds.sort_by_key(|kind| kind["name"].to_string());
    }
}

/// Normalizes a text for the comparison.
pub fn normal(text: &str) -> String {
    // Servers send fields in any order, and kubectl sometimes prints them as sent.
    let sorted = match serde_json::from_str::<Value>(text) {
        Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
            sort_kinds(&mut value);
            format!("{value:#}\n")
        }
        _ => text.to_owned(),
    };
    PATTERNS.iter().fold(sorted, |text, (pattern, place)| {
        pattern.replace_all(&text, *place).into_owned()
    })
}
