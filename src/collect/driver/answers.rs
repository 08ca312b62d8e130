//! What an answer of the implementation looks like in a profile. Seeing it only ends the wait: rules judge.

use evidence::{
    ProfileHistory,
    api::{ClusterProfile, Edition, names},
};

/// Whether the status of a joined member is filled.
pub(super) fn is_filled(profile: &ClusterProfile, edition: Edition) -> bool {
    let endpoints = edition != Edition::Standard || profile.property(names::PROPERTY_ENDPOINTS).is_some();
    endpoints
        && version(profile).is_some_and(|version| !version.is_empty())
        && profile.condition(names::CONDITION_HEALTHY).is_some()
        && is(profile, names::CONDITION_JOINED)
}

/// Whether the control plane is said to be healthy.
pub(super) fn is_healthy(profile: &ClusterProfile) -> bool {
    is(profile, names::CONDITION_HEALTHY)
}

/// Whether a scheduler may select the member: it is joined and healthy.
pub(super) fn is_well(profile: &ClusterProfile) -> bool {
    is(profile, names::CONDITION_JOINED) && is_healthy(profile)
}

/// Whether the profile of a member that has left is gone, or says neither that it is joined nor that it is healthy.
pub(super) fn is_retired(history: &ProfileHistory) -> bool {
    history
        .current()
        .is_none_or(|profile| !is(profile, names::CONDITION_JOINED) && !is(profile, names::CONDITION_HEALTHY))
}

/// The version that a profile tells.
pub(super) fn version(profile: &ClusterProfile) -> Option<&str> {
    profile.status.version.kubernetes.as_deref()
}

/// Whether a version is the one that was wanted, or that one of some vendor (`v1.35.2+k3s1`).
pub(super) fn is_version(told: &str, wanted: &str) -> bool {
    let bare = |version: &'_ str| version.strip_prefix('v').unwrap_or(version).to_owned();
    bare(told)
        .strip_prefix(&bare(wanted))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

fn is(profile: &ClusterProfile, condition: &str) -> bool {
    profile
        .condition(condition)
        .is_some_and(|condition| &*condition.status == "True")
}
