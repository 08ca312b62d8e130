//! The label `inventory-member-id`, which names a member within its inventory.

use std::collections::BTreeSet;

use evidence::{
    Evidence, ObjectRef, Origin,
    api::{ClusterProfile, names},
};

use super::label::hold_against;
use crate::{
    shared::{
        pairs::{Clashes, is_other, judged_first},
        presence::each_has,
        same_cluster::{DigestIndex, MAX_COMPARED, digest, identifying_versions, is_live},
        state::{State, each_state},
    },
    subjects::{Finding, Findings, Profiles, name},
    text::{ABSENT, redacted},
    who::Who,
};

pub(super) const PATH: &str = "metadata.labels[multicluster.x-k8s.io/inventory-member-id]";
pub(super) const NONE_SET: &str = "no profile has the label inventory-member-id";

/// `identity/member-id-non-empty`
///
/// A member id label that is present is not empty.
pub(in crate::rules) fn member_id_non_empty(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NONE_SET);
    each_state(profiles, findings, State::default(), |profile| {
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
pub(in crate::rules) fn member_id_set(profiles: &Profiles, findings: &mut Findings) {
    each_has(
        profiles,
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

/// `identity/member-id-from-creation`
///
/// The first version of a profile already has the member id label.
///
/// What others create is not held against the manager: a person, or a tool that restores a backup.
pub(in crate::rules) fn member_id_from_creation(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no profile was created in the window");
    let who = Who::of(evidence);
    for history in profiles.histories() {
        if history.origin != Origin::Created {
            continue;
        }
        let first = history.first();
        if first.label(names::LABEL_MEMBER_ID).is_some() {
            findings.examine();
            continue;
        }
        let unlabelled = Finding::on(first, "profile was created without a member id")
            .at(PATH)
            .expected("a member id in the request that creates the profile")
            .observed(ABSENT);
        hold_against(&who.created(history), unlabelled, findings);
    }
}

/// `identity/member-id-stable`
///
/// A member id does not change while the profile exists. Its temporary absence is no change.
pub(in crate::rules) fn member_id_stable(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable(NONE_SET);
    for history in profiles.histories() {
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
    let live = evidence.live().filter(|profile| key(profile).is_some());
    let judged = live.filter(|profile| evidence.judges(profile));
    judged.for_each(|_| findings.examine());

    let versions = identifying_versions(evidence);
    let mut index = DigestIndex::default();
    for (place, profile) in versions.iter().enumerate() {
        if let Some(key) = key(profile) {
            index.add(digest(key), place);
        }
    }
    let mut clashes = Clashes::new(evidence);
    for group in index.groups() {
        for (before, place) in group.iter().enumerate().skip(1) {
            let profile = versions[*place];
            let mut compared = BTreeSet::new();
            let earlier = group[..before].iter().map(|earlier| versions[*earlier]);
            for earlier in earlier.filter(|earlier| have_one_id(earlier, profile)) {
                compared.insert(name(earlier));
                if compared.len() > MAX_COMPARED {
                    clashes.is_cut(profile);
                    break;
                }
                let is_found = clashes.put(*place, [earlier, profile], have_one_id, |rival, profile| {
                    let [object, rival] = judged_first(evidence, profile, rival)?;
                    let (_, id) = key(object)?;
                    Some(
                        Finding::on(object, "two profiles of one namespace have the same member id")
                            .at(PATH)
                            .expected("an id that no other profile of the namespace has")
                            .observed(format!("{}, as has {}", redacted(id), ObjectRef::from(rival))),
                    )
                });
                if is_found {
                    break;
                }
            }
        }
    }
    clashes.judge(findings);
}

/// Whether two profiles have one member id. The successor of a terminating profile may already exist.
fn have_one_id(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    is_other(one, other) && is_live(one) && is_live(other) && key(one).is_some() && key(one) == key(other)
}

/// The namespace and the member id, if set.
pub(super) fn key(profile: &ClusterProfile) -> Option<(&str, &str)> {
    let id = profile.label(names::LABEL_MEMBER_ID)?;
    (!id.is_empty()).then_some((&*profile.metadata.namespace, id))
}
