//! The versions of profiles that may tell of other clusters than the versions before.

use std::sync::Arc;

use evidence::{
    Evidence, ProfileHistory,
    api::{ClusterProfile, names},
};

/// The versions of all profiles, deleted ones included, that differ in what identifies a cluster.
pub(crate) fn identifying_versions(evidence: &Evidence) -> Vec<&ClusterProfile> {
    evidence
        .profiles
        .iter()
        .flat_map(identifying_versions_of)
        .collect()
}

/// The same of one profile. The successor of a terminating one may already exist.
pub(crate) fn identifying_versions_of(history: &ProfileHistory) -> impl Iterator<Item = &ClusterProfile> {
    let mut before: Option<&ClusterProfile> = None;
    let versions = history.versions.iter().map(|version| &version.object);
    let live = versions.filter(|profile| is_live(profile));
    live.filter(move |profile| {
        let is_same = before.is_some_and(|before| identifies_the_same(before, profile));
        before = Some(profile);
        !is_same
    })
}

/// Whether a profile is not terminating.
pub(crate) fn is_live(profile: &ClusterProfile) -> bool {
    profile.metadata.deletion_timestamp.is_none()
}

/// Whether two versions of one profile are the same to all rules that compare profiles.
pub(crate) fn compares_the_same(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    let joined = |profile: &ClusterProfile| {
        let joined = profile.condition(names::CONDITION_JOINED);
        joined.map(|joined| joined.status.clone())
    };
    is_live(one) == is_live(other)
        && one.spec == other.spec
        && (Arc::ptr_eq(&one.status.conditions, &other.status.conditions) || joined(one) == joined(other))
        && identifies_the_same(one, other)
}

/// Whether two versions of one profile have the same ids, endpoints and access.
fn identifies_the_same(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    let (ours, theirs) = (&one.status, &other.status);
    let has_same_properties = || {
        let mut names = names::PROPERTIES_CLUSTER_ID
            .iter()
            .chain([&names::PROPERTY_ENDPOINTS, &names::PROPERTY_CLUSTERSET]);
        names.all(|name| value(one, name) == value(other, name))
    };
    one.metadata.labels == other.metadata.labels
        && (Arc::ptr_eq(&ours.properties, &theirs.properties) || has_same_properties())
        && ours.access_providers == theirs.access_providers
        && ours.credential_providers == theirs.credential_providers
}

fn value<'p>(profile: &'p ClusterProfile, name: &str) -> Option<&'p str> {
    profile.property(name).map(|property| &*property.value)
}
