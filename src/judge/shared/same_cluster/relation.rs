//! Decides whether two profiles describe the same member cluster.

use std::collections::BTreeSet;

use evidence::{
    Evidence,
    api::{
        ClusterProfile,
        endpoints::{Endpoints, Place, normal},
        names,
    },
};

use super::access::{are_told_apart, share_access, share_authority};
use crate::{
    subjects::{Findings, sets::ClusterSets},
    text::is_placeholder,
};

/// What one piece of evidence proves about two profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// They describe one cluster.
    Same,
    /// They describe two clusters.
    Different,
    /// It proves neither.
    Unknown,
}

/// Compares cluster ids. An id need only be unique within its ClusterSet (KEP-2149 › Uniqueness). Across ClusterSets,
/// equal ids prove one cluster only if they cannot be equal by chance.
pub(crate) fn by_ids<'a>(
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> Relation {
    let unequal = ids(one, other).any(|(one, other)| one != other);
    match (equal_ids(one, other).next().is_some(), unequal) {
        (true, false) => match (sets.of_profile(one), sets.of_profile(other)) {
            (Some(ours), Some(theirs)) if ours != theirs && !equal_ids(one, other).any(is_universal) => {
                Relation::Unknown
            }
            _ => Relation::Same,
        },
        (false, true) => Relation::Different,
        _ => Relation::Unknown,
    }
}

/// Compares cluster ids, then endpoints.
pub(crate) fn by_all<'a>(
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> Relation {
    match by_ids(sets, one, other) {
        Relation::Unknown => by_endpoints(one, other),
        told => told,
    }
}

/// Compares everything that identifies a cluster, the most reliable first.
pub(crate) fn by_everything<'a>(
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> Relation {
    let told = by_ids(sets, one, other);
    if told != Relation::Unknown {
        return told;
    }
    let member_id = |profile: &'a ClusterProfile| {
        let id = profile.label(names::LABEL_MEMBER_ID);
        id.filter(|id| !id.is_empty())
    };
    let one_inventory = one.metadata.namespace == other.metadata.namespace;
    if one_inventory && member_id(one).is_some() && member_id(one) == member_id(other) {
        return Relation::Same;
    }
    match by_endpoints(one, other) {
        _ if are_told_apart(one, other) => Relation::Different,
        Relation::Unknown if share_access(one, other) => Relation::Same,
        told => told,
    }
}

/// The ids that both have in the same property.
pub(crate) fn ids<'a>(
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    names::PROPERTIES_CLUSTER_ID
        .iter()
        .filter_map(|name| Some((cluster_id(one, name)?, cluster_id(other, name)?)))
}

fn equal_ids<'a>(one: &'a ClusterProfile, other: &'a ClusterProfile) -> impl Iterator<Item = &'a str> {
    ids(one, other)
        .filter(|(one, other)| one == other)
        .map(|(id, _)| id)
}

/// Notes that the comparison should cover the whole hub, and only some namespaces were listed.
pub(crate) fn note_bounds(evidence: &Evidence, findings: &mut Findings) {
    let namespaces = &evidence.header.scope.namespaces;
    if !namespaces.is_empty() {
        findings.note(format!(
            "profiles were compared within these namespaces only: {}",
            namespaces.join(", ")
        ));
    }
}

/// Notes the profiles that were not compared with all that may describe their cluster.
pub(crate) fn note_uncertain(profiles: usize, findings: &mut Findings) {
    findings.note_count(
        "",
        profiles,
        " profiles share endpoints, ids or an access provider with many others, and were compared with a few of them only",
    );
}

/// Compares endpoints: the same set, disjoint sets, or neither.
pub(crate) fn by_endpoints(one: &ClusterProfile, other: &ClusterProfile) -> Relation {
    let (one, other) = (endpoint_set(one), endpoint_set(other));
    if one.is_empty() || other.is_empty() {
        Relation::Unknown
    } else if one == other {
        Relation::Same
    } else if one.is_disjoint(&other) {
        Relation::Different
    } else {
        Relation::Unknown
    }
}

/// A cluster id, unless its value is a placeholder.
pub(crate) fn cluster_id<'a>(profile: &'a ClusterProfile, property: &str) -> Option<&'a str> {
    let value = profile.property(property)?.value.trim();
    (!is_placeholder(value)).then_some(value)
}

/// The ids of a profile: each with its property, as a place in [`names::PROPERTIES_CLUSTER_ID`].
pub(crate) fn cluster_ids(profile: &ClusterProfile) -> impl Iterator<Item = (usize, &str)> {
    let names = names::PROPERTIES_CLUSTER_ID.iter().enumerate();
    names.filter_map(|(place, name)| Some((place, cluster_id(profile, name)?)))
}

/// Whether an id is a UUID, with or without dashes: no two clusters have the same one by chance.
fn is_universal(id: &str) -> bool {
    let digits = || id.bytes().filter(|byte| *byte != b'-');
    digits().count() == 32 && digits().all(|digit| digit.is_ascii_hexdigit())
}

/// Calls `take` with each place that an endpoint leads to, and returns whether all were readable. If one is
/// unreadable or identifies no member, the rest is not the set that the manager meant.
pub(crate) fn each_place(profile: &ClusterProfile, mut take: impl FnMut(&Place<'_>)) -> bool {
    let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) else {
        return false;
    };
    Endpoints::read(&property.value)
        .entries()
        .iter()
        .all(|entry| Place::read(entry).inspect(&mut take).is_some())
}

/// The places that the endpoints lead to; empty if any is unreadable.
fn endpoint_set(profile: &ClusterProfile) -> BTreeSet<String> {
    let Some(property) = profile.property(names::PROPERTY_ENDPOINTS) else {
        return BTreeSet::new();
    };
    let endpoints = Endpoints::read(&property.value);
    let places = endpoints.entries().iter().map(|entry| normal(entry));
    places.collect::<Option<_>>().unwrap_or_default()
}

/// Whether two profiles of different ClusterSets certainly describe one cluster. Values that hubs and networks may
/// repeat are no proof alone: ids that are no UUID, private addresses, servers without a CA.
pub(crate) fn is_surely_one<'a>(
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> bool {
    if by_ids(sets, one, other) == Relation::Same {
        return true;
    }
    if ids(one, other).any(|(one, other)| one != other) {
        return false;
    }
    if are_told_apart(one, other) {
        return false;
    }
    match by_endpoints(one, other) {
        Relation::Different => false,
        Relation::Unknown => share_authority(one, other),
        Relation::Same if share_authority(one, other) => true,
        Relation::Same => equal_ids(one, other).next().is_some() || is_public(one),
    }
}

/// Whether one of the endpoints has a public address.
pub(crate) fn is_public(profile: &ClusterProfile) -> bool {
    let mut public = false;
    each_place(profile, |place| public |= !place.is_private());
    public
}
