//! What most rule functions use.

pub(crate) use evidence::{
    ObjectRef, Reason,
    api::{ClusterProfile, Edition, PlacementDecision, Role, names::*},
};

pub(crate) use crate::{
    engine::{Answer, Change, Hub, Sample, Seen, Step, Value, Write, Writes, describe},
    subjects::Finding,
    text::{ABSENT, redacted, redacted_or_absent},
    time::{Micros, SECOND, timestamp},
};

/// The path of a label.
pub(crate) fn label_path(key: &str) -> String {
    format!("metadata.labels[{key}]")
}

/// The path of a property's value.
pub(crate) fn property_path(name: &str) -> String {
    format!("status.properties[{}].value", redacted(name))
}

/// The path of a condition's field.
pub(crate) fn condition_path(kind: &str, field: &str) -> String {
    format!("status.conditions[{}].{field}", redacted(kind))
}

/// Whether a condition exists with that status.
pub(crate) fn has_status(profile: &ClusterProfile, kind: &str, status: &str) -> bool {
    let condition = profile.condition(kind);
    condition.is_some_and(|condition| &*condition.status == status)
}

/// Whether the profile waits for its finalizers.
pub(crate) fn is_terminating(profile: &ClusterProfile) -> bool {
    profile.metadata.deletion_timestamp.is_some()
}

/// Whether the profile's member has not left.
pub(crate) fn has_member(profile: &ClusterProfile) -> bool {
    !is_terminating(profile) && !has_status(profile, CONDITION_JOINED, "False")
}
