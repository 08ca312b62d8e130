//! Credentials in the texts of an object.

use evidence::{
    api::Labels,
    leak::{Grade, Leak, leaks_in_text, leaks_under},
};

use super::prelude::*;

/// The answer about the credentials in the parts of an object, each with its path.
pub(crate) fn no_leaks(noun: &str, parts: impl IntoIterator<Item = (String, Vec<Leak>)>) -> Answer {
    let leaks = parts.into_iter().flat_map(|(path, leaks)| {
        leaks
            .into_iter()
            .map(move |leak| (format!("{path}{}", leak.place), leak))
    });
    Answer::all(leaks.map(|(path, leak)| {
        let is_certain = leak.grade == Grade::Certain;
        let contains = if is_certain { "contains" } else { "may contain" };
        let observed = describe_leak(&leak, &path);
        Finding::at_path(path, format!("{noun} {contains} {}", leak.kind))
            .expected("no credential")
            .observed(observed)
            .advisory_unless(is_certain)
    }))
}

/// The credentials in labels or annotations, each with its path.
pub(crate) fn leaks_in_labels(path: &str, labels: &Labels) -> Vec<(String, Vec<Leak>)> {
    let leaks = labels.iter().flat_map(|(key, value)| {
        let path = format!("{path}[{key}]");
        [
            (path.clone(), leaks_in_text(key)),
            (path, leaks_under(key, value)),
        ]
    });
    leaks.collect()
}

/// Describes a credential without quoting it. Names the key unless the path does.
fn describe_leak(leak: &Leak, path: &str) -> String {
    let mut text = format!("{} of {} characters", leak.kind, leak.length);
    if leak.encoded {
        text.push_str(" in base64");
    }
    let is_in_path = |key: &str| path.ends_with(&format!(".{key}")) || path.contains(&format!("[{key}]"));
    if let Some(key) = leak.key.as_deref().filter(|key| !is_in_path(key)) {
        text.push_str(&format!(", given as `{key}`"));
    }
    if let Some(at) = leak.at {
        text.push_str(&format!(", from character {at} on"));
    }
    text
}
