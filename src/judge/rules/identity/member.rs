//! One profile per member cluster.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfile, Edition},
};

use crate::rules::{
    finding::{Finding, Findings},
    same_cluster::{DigestIndex, MAX_COMPARED, SharedIdentity, digest, note_bounds},
    sets::ClusterSets,
    text::redacted_or_absent,
};

/// `identity/one-profile-per-cluster`
///
/// No two profiles describe the same member: on the hub or, in editions that define an inventory as the profiles of
/// one namespace, in that namespace.
pub(in crate::rules) fn one_profile_per_cluster(evidence: &Evidence, findings: &mut Findings) {
    let scope = &evidence.header.scope;
    let by_namespace = evidence.header.claim.edition >= Edition::Y2026M09;
    if !by_namespace {
        note_bounds(evidence, findings);
    }
    // The successor of a terminating profile may already exist.
    let members: Vec<&ClusterProfile> = evidence
        .everyone()
        .filter(|profile| profile.metadata.deletion_timestamp.is_none())
        .collect();
    let mut index = SharedIdentity::ALL.map(|_| DigestIndex::default());
    for (place, profile) in members.iter().enumerate() {
        let inventory = by_namespace.then_some(&*profile.metadata.namespace);
        let mut told = false;
        for (kind, index) in SharedIdentity::ALL.into_iter().zip(&mut index) {
            kind.each_digest(profile, |value| {
                index.add(digest((inventory, value)), place);
                told = true;
            });
        }
        if told && scope.holds(profile) {
            findings.examine();
        }
    }
    if findings.examined == 0 {
        findings.cannot_tell("no profile identifies its cluster");
    }

    let sets = ClusterSets::of(evidence);
    let mut twins = BTreeMap::new();
    for (kind, index) in SharedIdentity::ALL.into_iter().zip(index) {
        for group in index.groups() {
            for (rank, place) in group.iter().enumerate().skip(1) {
                let earlier = group[..rank.min(MAX_COMPARED)]
                    .iter()
                    .map(|place| members[*place]);
                let mut same = earlier.filter(|earlier| {
                    let (earlier, profile) = (*earlier, members[*place]);
                    kind.joins(&sets, earlier, profile) && !kind.may_be_shared(earlier, profile)
                });
                if let Some(twin) = same.next() {
                    twins.entry(*place).or_insert((kind, twin));
                }
            }
        }
    }
    for (place, (kind, twin)) in twins {
        let profile = members[place];
        let (object, twin) = if scope.holds(profile) {
            (profile, twin)
        } else {
            (twin, profile)
        };
        if scope.holds(object) {
            findings.report(finding(kind, object, twin));
        }
    }
}

fn finding(kind: SharedIdentity, profile: &ClusterProfile, twin: &ClusterProfile) -> Finding {
    let (path, value, what) = kind.describe(profile, twin);
    Finding::on(profile, format!("two profiles describe one cluster: {what}"))
        .at(path)
        .expected("a cluster that no other profile describes")
        .observed(format!(
            "{}, as in {}",
            redacted_or_absent(value),
            ObjectRef::from(twin)
        ))
}
