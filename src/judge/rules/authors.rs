//! Finds who changed or deleted an object.

use std::collections::BTreeSet;

use evidence::{
    Evidence, ObjectRef, ProfileHistory, Request, Tracked,
    api::{Writer, names},
};

use super::{
    logged::{Judged, creates, judged, key_of},
    text::redacted,
    write_time::{LATE, skew},
};

/// Whether a field manager is a writer: the API server invents two names for fields without a recorded one.
pub(super) fn is_actor(field_manager: &str) -> bool {
    !matches!(field_manager, "before-first-apply" | "ancient-changes")
}

/// The field managers of an object; empty without managedFields.
pub(super) fn writers<T: Tracked>(object: &T) -> BTreeSet<&str> {
    let writers = object.metadata().writers.as_deref().unwrap_or_default();
    let names = writers.iter().map(|writer| &*writer.manager);
    names.filter(|name| is_actor(name)).collect()
}

/// The field managers that wrote between two versions; empty without managedFields. One that only lost a field to
/// another did not write: the hub keeps its time.
pub(super) fn authors<'a, T: Tracked>(before: &T, after: &'a T) -> BTreeSet<&'a str> {
    let old = before.metadata().writers.as_deref().unwrap_or_default();
    let new = after.metadata().writers.as_deref().unwrap_or_default();
    let has_not_written = |old: &Writer, new: &Writer| {
        (&old.manager, &old.operation, &old.subresource, &old.time)
            == (&new.manager, &new.operation, &new.subresource, &new.time)
            && new.owns.iter().all(|part| old.owns.contains(part))
    };
    let wrote = |new: &&Writer| !old.iter().any(|old| has_not_written(old, new));
    let names = new.iter().filter(wrote).map(|writer| &*writer.manager);
    names.filter(|name| is_actor(name)).collect()
}

/// The field managers that own parts of a profile which only its manager sets.
pub(super) fn publishers_of(history: &ProfileHistory) -> BTreeSet<&str> {
    let label = format!("metadata.labels[{}]", names::LABEL_MANAGER);
    let is_published =
        |part: &str| part.starts_with("spec.clusterManager") || part.starts_with("status.") || part == label;
    let versions = history.versions.iter();
    let writers = versions.flat_map(|version| version.object.metadata.writers.as_deref().unwrap_or_default());
    writers
        .filter(|writer| writer.owns.iter().any(|part| is_published(part)))
        .map(|writer| &*writer.manager)
        .collect()
}

/// Whether only a profile's manager sends such a request.
pub(super) fn publishes_profile(request: &Request) -> bool {
    &*request.subresource == "status" || creates(request)
}

/// Returns the deletion of an object in the audit log, close enough to the time at which the watch saw it.
pub(super) fn deletion<'a, T: Judged>(
    evidence: &'a Evidence,
    object: &ObjectRef,
    seen: i64,
) -> Option<&'a Request> {
    let requests = T::requests(evidence)?;
    let mut events = requests.events.iter().rev();
    events.find(|event| {
        let at = event.at.as_microsecond().saturating_sub(skew(evidence));
        let names_it = match &*event.verb {
            "delete" => *event.name == *object.name && event.subresource.is_empty(),
            "deletecollection" => true,
            _ => false,
        };
        names_it
            && event.is_write()
            && *event.namespace == *object.namespace
            && (seen.saturating_sub(LATE)..=seen.saturating_add(LATE)).contains(&at)
    })
}

/// Whether the audit log shows that the user publishes a judged object: tools write to all objects, too.
pub(super) fn publishes_judged<T: Judged>(
    evidence: &Evidence,
    user: &str,
    publishes: fn(&Request) -> bool,
) -> bool {
    let requests = T::requests(evidence)
        .into_iter()
        .flat_map(|requests| &requests.events);
    let written: BTreeSet<(&str, &str)> = requests
        .filter(|event| event.is_write() && &*event.user == user && publishes(event))
        .map(|event| (&*event.namespace, &*event.name))
        .collect();
    judged::<T>(evidence).any(|history| written.contains(&key_of(history)))
}

/// Returns ` by …` for messages; empty if no author is known.
pub(super) fn by(names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        String::new()
    } else {
        let names: Vec<String> = names.iter().map(|name| redacted(name)).collect();
        format!(" by {}", names.join(", "))
    }
}
