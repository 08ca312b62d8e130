//! One member cluster, one profile.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::sameness::{ClusterSets, Relation, cluster_id, endpoint_set, server, share_access};
use crate::{
    api::{ClusterProfile, Edition, names},
    evidence::{Evidence, ObjectRef},
    rules::{Finding, Findings, text::shown_or_absent},
};

/// What two profiles have in common, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Trait {
    /// The label `inventory-member-id`.
    MemberId,
    /// A cluster id property: which of [`names::PROPERTIES_CLUSTER_ID`].
    ClusterId(usize),
    /// All endpoints.
    Endpoints,
    /// Server, CA and settings of an access provider.
    Access,
}

/// That a profile has a trait with a certain value. The value is known by its digest, so that an inventory of
/// 100,000 profiles can be sorted by what they have in common without copying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    kind: Trait,
    digest: u64,
    /// The profile's place in the inventory.
    index: usize,
}

/// With how many earlier profiles of the same mark a profile is compared: behind a gateway, thousands may share
/// one server and still be different members.
const COMPARED: usize = 8;

/// No two profiles describe the same member: on the hub, or, in editions that define an inventory as the profiles
/// of one namespace, in one namespace.
pub(in crate::rules) fn one_profile_per_cluster(evidence: &Evidence, findings: &mut Findings) {
    let scope = &evidence.header.scope;
    let by_namespace = evidence.header.claim.edition >= Edition::Y2026M09;
    // While a profile is being deleted, the one that replaces it may be there already.
    let members: Vec<&ClusterProfile> = evidence
        .everyone()
        .filter(|profile| profile.metadata.deletion_timestamp.is_none())
        .collect();
    let mut marks = Vec::with_capacity(members.len() * 4);
    for (index, profile) in members.iter().enumerate() {
        let before = marks.len();
        mark(profile, index, by_namespace, &mut marks);
        if marks.len() > before && scope.holds(profile) {
            findings.examine();
        }
    }
    if findings.examined == 0 {
        findings.cannot_tell("no profile tells which cluster it describes");
    }
    marks.sort_unstable();

    let sets = ClusterSets::of(evidence);
    let mut told: BTreeMap<usize, Finding> = BTreeMap::new();
    for alike in marks.chunk_by(|one, other| (one.kind, one.digest) == (other.kind, other.digest)) {
        for (place, mark) in alike.iter().enumerate().skip(1) {
            let profile = members[mark.index];
            let twin = alike[..place.min(COMPARED)]
                .iter()
                // Two access providers of one profile may name one server.
                .filter(|earlier| earlier.index != mark.index)
                .map(|earlier| members[earlier.index])
                .find(|earlier| one_cluster(mark.kind, &sets, earlier, profile));
            let Some(twin) = twin else { continue };
            let (object, twin) = match scope.holds(profile) {
                true => (profile, twin),
                false => (twin, profile),
            };
            if scope.holds(object) {
                told.entry(mark.index)
                    .or_insert_with(|| finding(mark.kind, object, twin));
            }
        }
    }
    told.into_values().for_each(|finding| findings.report(finding));
}

/// Notes what a profile tells of the cluster that it describes.
fn mark(profile: &ClusterProfile, index: usize, by_namespace: bool, marks: &mut Vec<Mark>) {
    let mut add = |kind: Trait, value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        if by_namespace {
            profile.metadata.namespace.hash(&mut hasher);
        }
        value(&mut hasher);
        marks.push(Mark {
            kind,
            digest: hasher.finish(),
            index,
        });
    };
    if let Some(id) = profile.label(names::LABEL_MEMBER_ID).filter(|id| !id.is_empty()) {
        add(Trait::MemberId, &|hasher| id.hash(hasher));
    }
    for (which, name) in names::PROPERTIES_CLUSTER_ID.iter().enumerate() {
        if let Some(id) = cluster_id(profile, name) {
            add(Trait::ClusterId(which), &|hasher| id.hash(hasher));
        }
    }
    let endpoints = endpoint_set(profile);
    if !endpoints.is_empty() {
        add(Trait::Endpoints, &|hasher| endpoints.hash(hasher));
    }
    for provider in profile.access() {
        if let Some(server) = server(&provider.cluster) {
            add(Trait::Access, &|hasher| server.hash(hasher));
        }
    }
}

/// Whether two profiles with a trait in common describe one cluster: a stronger trait can say that they do not.
fn one_cluster<'a>(
    kind: Trait,
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> bool {
    match kind {
        Trait::MemberId => {
            one.metadata.namespace == other.metadata.namespace
                || sets.by_all(one, other) != Relation::Different
        }
        Trait::ClusterId(_) => sets.by_ids(one, other) == Relation::Same,
        Trait::Endpoints => sets.by_ids(one, other) != Relation::Different,
        Trait::Access => sets.by_all(one, other) != Relation::Different && share_access(one, other),
    }
}

fn finding(kind: Trait, profile: &ClusterProfile, twin: &ClusterProfile) -> Finding {
    let (path, value, what) = match kind {
        Trait::MemberId => (
            format!("metadata.labels[{}]", names::LABEL_MEMBER_ID),
            profile.label(names::LABEL_MEMBER_ID),
            "same member id",
        ),
        Trait::ClusterId(which) => {
            let name = names::PROPERTIES_CLUSTER_ID[which];
            (
                format!("status.properties[{name}].value"),
                cluster_id(profile, name),
                "same cluster id",
            )
        }
        Trait::Endpoints => (
            format!("status.properties[{}].value", names::PROPERTY_ENDPOINTS),
            profile
                .property(names::PROPERTY_ENDPOINTS)
                .map(|property| &*property.value),
            "same endpoints",
        ),
        Trait::Access => {
            let shared = profile
                .access()
                .find(|provider| {
                    let ours = server(&provider.cluster);
                    ours.is_some() && twin.access().any(|theirs| server(&theirs.cluster) == ours)
                })
                .map(|provider| (&*provider.name, provider.cluster.server.as_deref()));
            let (name, server) = shared.unwrap_or_default();
            (
                format!("status.accessProviders[{name}].cluster.server"),
                server,
                "same server and CA",
            )
        }
    };
    Finding::on(profile, format!("two profiles describe one cluster: {what}"))
        .at(path)
        .expected("a cluster that no other profile describes")
        .observed(format!(
            "{}, as in {}",
            shown_or_absent(value),
            ObjectRef::from(twin)
        ))
}
