//! The label `inventory-member-id`, which names a member within its inventory.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef, ProfileHistory,
    api::{ClusterProfile, names},
};

use crate::rules::{
    division::Tie,
    finding::{Finding, Findings},
    presence::each_has,
    same_cluster::{DigestIndex, digest},
    state::{State, each_state},
    text::{ABSENT, redacted},
};

pub(super) const PATH: &str = "metadata.labels[multicluster.x-k8s.io/inventory-member-id]";
pub(super) const NONE_SET: &str = "no profile has the label inventory-member-id";

/// `identity/member-id-non-empty`
///
/// A member id label that is present is not empty.
pub(in crate::rules) fn member_id_non_empty(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NONE_SET);
    each_state(evidence, findings, State::default(), |profile| {
        let id = profile.label(names::LABEL_MEMBER_ID)?;
        let empty = id.is_empty().then(|| {
            Finding::on(profile, "member id is empty")
                .at(PATH)
                .expected("an id that is not empty, or no such label")
                .observed("")
                .into()
        });
        Some(empty.into_iter().collect())
    });
}

/// `identity/member-id-set`
///
/// Every profile has the member id label.
pub(in crate::rules) fn member_id_set(evidence: &Evidence, findings: &mut Findings) {
    each_has(
        evidence,
        findings,
        |profile| profile.label(names::LABEL_MEMBER_ID).is_some(),
        |profile| {
            Finding::on(profile, "profile has no member id")
                .at(PATH)
                .expected("an id that is the same for as long as the member is in the inventory")
                .observed(ABSENT)
        },
    );
}

/// `identity/member-id-stable`
///
/// A member id does not change while the profile exists. Its temporary absence is no change.
pub(in crate::rules) fn member_id_stable(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NONE_SET);
    for history in evidence.histories() {
        let mut ids = history.versions.iter().filter_map(|version| {
            let id = version.object.label(names::LABEL_MEMBER_ID)?;
            (!id.is_empty()).then_some((id, &version.object))
        });
        let Some((mut known, _)) = ids.next() else {
            continue;
        };
        findings.examine();
        for (id, profile) in ids {
            if id != known {
                findings.report(
                    Finding::on(profile, "member id was changed")
                        .at(PATH)
                        .expected(redacted(known))
                        .observed(redacted(id)),
                );
                known = id;
            }
        }
    }
}

/// `identity/member-id-unique`
///
/// No two profiles of a namespace have the same member id, even from different managers.
pub(in crate::rules) fn member_id_unique(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NONE_SET);
    // The successor of a terminating profile may already exist.
    let profiles: Vec<&ClusterProfile> = evidence.standing().collect();
    let mut index = DigestIndex::default();
    for (place, profile) in profiles.iter().enumerate() {
        if let Some((namespace, id)) = key(profile) {
            index.add(digest((namespace, id)), place);
            if evidence.judges(profile) {
                findings.examine();
            }
        }
    }
    let mut twins = BTreeMap::new();
    for group in index.groups() {
        let first = profiles[group[0]];
        let others = group.into_iter().skip(1);
        twins.extend(
            others
                .filter(|place| key(profiles[*place]) == key(first))
                .map(|place| (place, first)),
        );
    }
    for (place, first) in twins {
        let profile = profiles[place];
        let (object, rival) = if evidence.judges(profile) {
            (profile, first)
        } else {
            (first, profile)
        };
        if let Some((_, id)) = key(object).filter(|_| evidence.judges(object)) {
            findings.report(
                Finding::on(object, "two profiles of one namespace have the same member id")
                    .at(PATH)
                    .expected("an id that no other profile of the namespace has")
                    .observed(format!("{}, as has {}", redacted(id), ObjectRef::from(rival))),
            );
        }
    }
}

/// The ties of a profile that stands: to all of its namespace with its member id.
pub(in crate::rules) fn ties_of_member_id(_: &Evidence, history: &ProfileHistory) -> Vec<Tie> {
    let key = history.standing().and_then(key);
    key.map(|key| Tie::to_all(digest(key))).into_iter().collect()
}

/// The namespace and the member id, if set.
pub(super) fn key(profile: &ClusterProfile) -> Option<(&str, &str)> {
    let id = profile.label(names::LABEL_MEMBER_ID)?;
    (!id.is_empty()).then_some((&*profile.metadata.namespace, id))
}
