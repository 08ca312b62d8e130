//! The writes that a watch saw on profiles, and those of a log in words.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, ObjectRef, ProfileHistory, Request, api::ClusterProfile};

use crate::{
    text::{counted, redacted},
    time,
    who::{
        logged::{Key, logged_key},
        writes_status,
    },
};

/// A step between two versions of a profile that changed something.
pub(crate) type Write<'a> = time::Write<'a, ClusterProfile>;

/// The status writes that the watch saw on a profile, in order, each with its moment.
pub(crate) fn status_writes<'a>(evidence: &'a Evidence, history: &'a ProfileHistory) -> Vec<Write<'a>> {
    let differ = |one: &ClusterProfile, other: &ClusterProfile| one.status != other.status;
    time::writes(evidence, history, differ, writes_status)
}

/// All writes that the watch saw on a profile, whatever they changed.
pub(crate) fn writes<'a>(evidence: &'a Evidence, history: &'a ProfileHistory) -> Vec<Write<'a>> {
    let differ = |one: &ClusterProfile, other: &ClusterProfile| {
        one.metadata.resource_version != other.metadata.resource_version
    };
    time::writes(evidence, history, differ, |_| true)
}

/// What a user's writes on one object were, as a finding shows them.
pub(crate) fn writes_in_words(user: &str, writes: &[&Request]) -> String {
    let verbs: BTreeSet<&str> = writes.iter().map(|request| &*request.verb).collect();
    let verbs: Vec<&str> = verbs.into_iter().collect();
    format!(
        "{} ({}) by {}, first at {}",
        counted(writes.len(), "write"),
        verbs.join(", "),
        redacted(user),
        writes[0].at
    )
}

/// The writes on each object, or on each namespace where the log omits the name.
pub(crate) fn by_object<'e>(
    writes: impl Iterator<Item = &'e Request>,
) -> BTreeMap<Key<'e>, Vec<&'e Request>> {
    let mut by_object: BTreeMap<Key<'e>, Vec<&Request>> = BTreeMap::new();
    for write in writes {
        by_object.entry(logged_key(write)).or_default().push(write);
    }
    by_object
}

/// An object of that kind, as a log names it.
pub(crate) fn logged_object(kind: &str, (namespace, name): Key<'_>) -> ObjectRef {
    ObjectRef {
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ObjectRef::default()
    }
}
