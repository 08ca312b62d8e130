//! Normalizes printed text: replaces what differs from run to run.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Patterns, and what is written in their place; in this order.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "UID",
        ),
        // RFC 3339, as `diff` tells it, and as `describe` does in places.
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
        // A watch that kubectl itself ends when its time is up may be in the client's log or not.
        (r"(?m)^[EIW]\d{4} .* reflector\.go:.*\n", ""),
        // A line of the client's own log.
        (r"[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
        // Files of `diff` and `edit`, names of Events, generated names.
        (r"\S*/(LIVE|MERGED)-\d+", "$1"),
        (r"\S*/kubectl-edit-\d+", "kubectl-edit"),
        (r"\.[0-9a-f]{16}\b", ".SERIAL"),
        (r"\bgenerated-[a-z0-9]{5}\b", "generated-NAME"),
        (r"\b(?:\d+[dhms]|\d+ms)(?:\d+[hms])?\b", "AGE"),
        // Columns are as wide as what has just been replaced.
        (r"(\S) {2,}", "$1  "),
        (r"(?m) +$", ""),
    ];
    let compiled = patterns.map(|(pattern, place)| (Regex::new(pattern).expect("a pattern"), place));
    compiled.into()
});

/// The text in a form that can be compared.
pub fn normal(text: &str) -> String {
    // A server may give the fields of an object in any order; kubectl leaves it where it prints what it was sent.
    let sorted = match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => format!("{value:#}\n"),
        _ => text.to_owned(),
    };
    PATTERNS.iter().fold(sorted, |text, (pattern, place)| {
        pattern.replace_all(&text, *place).into_owned()
    })
}
