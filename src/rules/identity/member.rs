//! One member cluster, one profile.

use std::collections::BTreeMap;

use super::{
    alike::{Marks, digest},
    sameness::{
        ClusterSets, Relation, by_endpoints, cluster_id, each_place, note_bounds, server, share_access,
    },
};
use crate::{
    api::{ClusterProfile, Edition, names},
    evidence::{Evidence, ObjectRef},
    rules::{
        Finding, Findings,
        text::{shown, shown_or_absent},
    },
};

/// What two profiles have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Trait {
    /// All of them, the most telling first.
    const ALL: [Trait; 6] = [
        Trait::MemberId,
        Trait::ClusterId(0),
        Trait::ClusterId(1),
        Trait::ClusterId(2),
        Trait::Endpoints,
        Trait::Access,
    ];
}

/// With how many earlier profiles that have a trait in common a profile is compared: behind a gateway, thousands may
/// share one server and still be different members.
const COMPARED: usize = 8;

/// No two profiles describe the same member: on the hub, or, in editions that define an inventory as the profiles
/// of one namespace, in one namespace.
pub(in crate::rules) fn one_profile_per_cluster(evidence: &Evidence, findings: &mut Findings) {
    let scope = &evidence.header.scope;
    let by_namespace = evidence.header.claim.edition >= Edition::Y2026M09;
    if !by_namespace {
        note_bounds(evidence, findings);
    }
    // While a profile is being deleted, the one that replaces it may be there already.
    let members: Vec<&ClusterProfile> = evidence
        .everyone()
        .filter(|profile| profile.metadata.deletion_timestamp.is_none())
        .collect();
    let mut marks = Trait::ALL.map(|_| Marks::default());
    for (place, profile) in members.iter().enumerate() {
        let inventory = by_namespace.then_some(&*profile.metadata.namespace);
        let mut told = false;
        for (kind, marks) in Trait::ALL.into_iter().zip(&mut marks) {
            each_digest(kind, profile, |value| {
                marks.add(digest((inventory, value)), place);
                told = true;
            });
        }
        if told && scope.holds(profile) {
            findings.examine();
        }
    }
    if findings.examined == 0 {
        findings.cannot_tell("no profile tells which cluster it describes");
    }

    let sets = ClusterSets::of(evidence);
    let mut twins = BTreeMap::new();
    for (kind, marks) in Trait::ALL.into_iter().zip(marks) {
        for group in marks.groups() {
            for (rank, place) in group.iter().enumerate().skip(1) {
                let earlier = group[..rank.min(COMPARED)].iter().map(|place| members[*place]);
                let mut same = earlier.filter(|earlier| one_cluster(kind, &sets, earlier, members[*place]));
                if let Some(twin) = same.next() {
                    twins.entry(*place).or_insert((kind, twin));
                }
            }
        }
    }
    for (place, (kind, twin)) in twins {
        let profile = members[place];
        let (object, twin) = match scope.holds(profile) {
            true => (profile, twin),
            false => (twin, profile),
        };
        if scope.holds(object) {
            findings.report(finding(kind, object, twin));
        }
    }
}

/// Calls with the digest of each value that a profile has of a trait.
fn each_digest(kind: Trait, profile: &ClusterProfile, mut take: impl FnMut(u64)) {
    match kind {
        Trait::MemberId => {
            let id = profile.label(names::LABEL_MEMBER_ID);
            id.filter(|id| !id.is_empty())
                .map(digest)
                .into_iter()
                .for_each(take);
        }
        Trait::ClusterId(which) => {
            let id = cluster_id(profile, names::PROPERTIES_CLUSTER_ID[which]);
            id.map(digest).into_iter().for_each(take);
        }
        Trait::Endpoints => {
            let mut places = Vec::new();
            if each_place(profile, |place| places.push(digest(place))) && !places.is_empty() {
                places.sort_unstable();
                places.dedup();
                take(digest(places));
            }
        }
        Trait::Access => {
            let servers = profile.access().filter_map(|provider| server(&provider.cluster));
            servers.map(digest).for_each(take);
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
            let id = |profile: &'a ClusterProfile| profile.label(names::LABEL_MEMBER_ID);
            let within = one.metadata.namespace == other.metadata.namespace;
            id(one) == id(other) && (within || sets.by_all(one, other) != Relation::Different)
        }
        Trait::ClusterId(_) => sets.by_ids(one, other) == Relation::Same,
        Trait::Endpoints => {
            sets.by_ids(one, other) != Relation::Different && by_endpoints(one, other) == Relation::Same
        }
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
                format!("status.accessProviders[{}].cluster.server", shown(name)),
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
