//! Quotes hub text in findings: redacted and shortened. Recognizes placeholders, and counts things.

use std::{borrow::Cow, collections::BTreeSet, fmt::Display};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use evidence::{leak::leaks_under, redact::without_credentials};

/// What a finding shows for a missing field.
pub(crate) const ABSENT: &str = "(absent)";

/// Maximum length of one quoted value, in characters.
const VALUE: usize = 200;

/// Maximum length of a whole field of a finding, in characters.
const FIELD: usize = 2000;

/// Values that mean "not known", in lower case.
const PLACEHOLDERS: [&str; 8] = [
    "",
    "-",
    "00000000-0000-0000-0000-000000000000",
    "n/a",
    "none",
    "null",
    "undefined",
    "unknown",
];

/// A number of things: `1 request`, `2 requests`.
pub(crate) fn counted(count: impl Display, thing: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// Quotes a value: redacted, and shortened if it is long.
pub(crate) fn redacted(text: &str) -> String {
    cut(text, VALUE)
}

/// Quotes names, with commas between them.
pub(crate) fn listed(names: &BTreeSet<&str>) -> String {
    let names: Vec<String> = names.iter().map(|name| redacted(name)).collect();
    names.join(", ")
}

/// The first few texts, and how many more there are: `a, b and 3 more`.
pub(crate) fn first_of(texts: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = texts.len().saturating_sub(most);
    let first = texts.take(most).collect::<Vec<String>>().join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Quotes the value of a name, for example a property's. The name may give the value away as a credential.
pub(crate) fn redacted_under(name: &str, value: &str) -> String {
    if leaks_under(name, value).is_empty() {
        redacted(value)
    } else {
        "…".to_owned()
    }
}

/// Quotes a whole field of a finding, which may contain several values.
pub(crate) fn redacted_field(text: &str) -> String {
    cut(text, FIELD)
}

fn cut(text: &str, longest: usize) -> String {
    let text = without_credentials(text);
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.into_owned(),
    }
}

/// Quotes an address: text before an `@` is a credential, even without a scheme.
pub(crate) fn redacted_address(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, host)) if !text.contains("//") => redacted(&format!("…@{host}")),
        _ => redacted(text),
    }
}

pub(crate) fn holds_credential(text: &str) -> bool {
    matches!(without_credentials(text), Cow::Owned(_))
}

/// Quotes a field that may be missing.
pub(crate) fn redacted_or_absent(text: Option<&str>) -> String {
    text.map_or_else(|| ABSENT.to_owned(), redacted)
}

pub(crate) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS
        .iter()
        .any(|placeholder| placeholder.eq_ignore_ascii_case(value))
}

/// The defined name that a name differs from by one or two edits: a likely misspelling. Defined names are ASCII.
pub(crate) fn misspelled(name: &str, defined: &[&'static str]) -> Option<&'static str> {
    if defined.contains(&name) {
        return None;
    }
    let length = name.chars().count();
    let is_as_long = |defined: &&&str| defined.len().abs_diff(length) <= 2;
    let candidates = defined.iter().filter(is_as_long);
    let candidates = candidates.filter(|defined| has_part_of(name, defined));
    let distances = candidates.map(|defined| (strsim::levenshtein(defined, name), *defined));
    let (distance, nearest) = distances.min()?;
    (distance <= 2).then_some(nearest)
}

/// Whether a name contains a third of a defined one: two edits leave one of three unchanged. Most names are unlike all.
fn has_part_of(name: &str, defined: &str) -> bool {
    let (first, rest) = defined.split_at(defined.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    [first, second, third].into_iter().any(|part| name.contains(part))
}

/// Decodes base64, which may be broken into lines.
pub(crate) fn decode_base64(data: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(data.replace(['\n', '\r'], "")).ok()
}

#[cfg(test)]
mod tests {
    use evidence::api::names;

    use super::*;

    #[test]
    fn two_edits_are_a_misspelling() {
        for (name, standard) in [
            ("cluster-endpoint.k8s.io", names::PROPERTY_ENDPOINTS),
            ("cluster-endpoints.k8s.oi", names::PROPERTY_ENDPOINTS),
            ("group.çüstomResource.k8s.io", names::PROPERTY_RESOURCE_GROUPS),
            ("count.nodes.k8s.io", names::PROPERTY_NODE_COUNT),
            ("location.toplogy.k8s.io", names::PROPERTY_LOCATION),
            ("metrics_endpoints.k8s.io", names::PROPERTY_METRICS_ENDPOINTS),
        ] {
            assert_eq!(
                misspelled(name, &names::STANDARD_PROPERTIES),
                Some(standard),
                "{name}"
            );
        }
        let about = names::PROPERTIES_CLUSTER_ID
            .into_iter()
            .chain([names::PROPERTY_CLUSTERSET]);
        for other in about.chain([
            "",
            "location",
            "region.topology.k8s.io",
            "node.k8s.io",
            "clusterset.kubernetes.io",
        ]) {
            assert_eq!(misspelled(other, &names::STANDARD_PROPERTIES), None, "{other}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(redacted("short"), "short");
        let long = "é".repeat(201);
        assert_eq!(redacted(&long), format!("{}… (201 characters)", "é".repeat(200)));
        assert_eq!(redacted_or_absent(None), "(absent)");
    }

    #[test]
    fn credentials_are_not_shown() {
        assert_eq!(redacted("https://user:secret@a:1/x@y"), "https://…@a:1/x@y");
        assert_eq!(
            redacted_address("https://user:secret@a:1/x@y"),
            "https://…@a:1/x@y"
        );
        assert_eq!(redacted_address("user:secret@a:1"), "…@a:1");
        let token = format!("eyJhbGciOiJub25lIn0.{}.x", "a".repeat(300));
        assert_eq!(redacted(&token), "…");
    }
}
