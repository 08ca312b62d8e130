//! What most rule functions use.

pub(crate) use evidence::api::names::*;
use evidence::{
    api::{Labels, Metadata},
    leak::{Grade, Leak, leaks_under},
};

pub(crate) use crate::{
    engine::{ArrivalTime, Change, ObjectWrite, ProfileStep, Sample, Value, Writes, describe, prelude::*},
    text::{ABSENT, redacted_or_absent},
};

pub(crate) fn label_path(key: &str) -> String {
    format!("metadata.labels[{key}]")
}

/// The path of the value of a standard property.
pub(crate) fn property_path(name: &'static str) -> String {
    format!("status.properties[{name}].value")
}

pub(crate) fn condition_path(kind: &str, field: &str) -> String {
    format!("status.conditions[{}].{field}", redacted(kind))
}

/// Whether a condition exists with that status.
pub(crate) fn has_status(profile: &ClusterProfile, kind: &str, status: &str) -> bool {
    let condition = profile.condition(kind);
    condition.is_some_and(|condition| &*condition.status == status)
}

/// Whether the profile's member has not left.
pub(crate) fn has_member(profile: &ClusterProfile) -> bool {
    !profile.is_terminating() && !has_status(profile, CONDITION_JOINED, "False")
}

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

/// The credentials in a part of an object. Nearly all parts hold none, and need no path.
pub(crate) fn leaks_at(path: impl FnOnce() -> String, leaks: Vec<Leak>) -> Option<(String, Vec<Leak>)> {
    (!leaks.is_empty()).then(|| (path(), leaks))
}

/// The credentials in an object's labels and annotations, each with its path.
pub(crate) fn leaks_in_metadata(metadata: &Metadata, hub: &Hub) -> Vec<(String, Vec<Leak>)> {
    let mut leaks = leaks_in_labels("metadata.labels", &metadata.labels, hub);
    leaks.extend(leaks_in_labels(
        "metadata.annotations",
        &metadata.annotations,
        hub,
    ));
    leaks
}

fn leaks_in_labels(path: &str, labels: &Labels, hub: &Hub) -> Vec<(String, Vec<Leak>)> {
    let leaks = labels.iter().flat_map(|(key, value)| {
        let path = || format!("{path}[{key}]");
        [
            leaks_at(path, hub.leaks_in_shared(key)),
            leaks_at(path, leaks_under(key, value)),
        ]
    });
    leaks.flatten().collect()
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
