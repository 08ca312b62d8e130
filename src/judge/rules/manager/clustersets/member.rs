//! Clusters in ClusterSet namespaces.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, ObjectRef, api::ClusterProfile};

use crate::{
    reasons::NO_PROFILE_IN_CLUSTERSET,
    shared::{
        pairs::{Clashes, is_other, judged_first},
        same_cluster::{
            Candidates, IdentityIndex, MAX_COMPARED, SharedIdentity, identifying_versions, is_identified,
            is_live, is_surely_one, note_bounds,
        },
    },
    subjects::{Finding, Findings, sets::ClusterSets},
    text::{redacted, redacted_or_absent},
};

/// Maximum number of earlier profiles that a profile is compared with, in all ClusterSets together.
const COMPARED_IN_ALL: usize = 8 * MAX_COMPARED;

/// A profile in a ClusterSet's namespace.
#[derive(Clone, Copy)]
struct Member<'a> {
    profile: &'a ClusterProfile,
    set: &'a str,
}

/// `clustersets/one-set-per-cluster`
///
/// No cluster has profiles in the namespaces of two ClusterSets for longer than the grace.
///
/// A cluster that moves between sets may briefly have both, and a terminating profile does not count.
pub(in crate::rules) fn one_set_per_cluster(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NO_PROFILE_IN_CLUSTERSET);
    note_bounds(evidence, findings);
    let sets = ClusterSets::of(evidence);
    let member = |profile| Member::of(&sets, profile);
    let current: Vec<Member> = evidence.everyone().filter_map(member).collect();
    for member in &current {
        let is_judged = evidence.judges(member.profile);
        let is_identified = is_identified(member.profile);
        if is_judged && is_identified {
            findings.examine();
        } else if is_judged {
            findings
                .cannot_tell_unless_examined("no profile in a ClusterSet's namespace identifies its cluster");
        }
        // With fewer than two ClusterSets, no cluster is in two, whether or not it is identified.
        findings.examine_if_alike(member.set, is_judged && !is_identified);
    }
    let members: Vec<Member> = identifying_versions(evidence)
        .into_iter()
        .filter_map(member)
        .collect();
    let different: BTreeSet<&str> = members.iter().map(|member| member.set).collect();
    if different.len() < 2 {
        return;
    }

    let index = IdentityIndex::of(members.iter().map(|member| (member.profile, None)));
    let mut clashes = Clashes::new(evidence);
    for (kind, groups) in index.groups() {
        for group in groups {
            across_sets(&members, &sets, kind, &group, &mut clashes);
        }
    }
    clashes.judge(findings);
}

impl<'a> Member<'a> {
    /// A version of a profile in a ClusterSet's namespace; none of another one.
    fn of(sets: &ClusterSets<'a>, profile: &'a ClusterProfile) -> Option<Self> {
        let set = sets.of_namespace(&profile.metadata.namespace)?;
        Some(Self { profile, set })
    }
}

/// Among profiles that share an identity, finds those whose cluster has an earlier profile in another ClusterSet's
/// namespace.
fn across_sets<'a>(
    members: &[Member<'a>],
    sets: &ClusterSets<'a>,
    kind: SharedIdentity,
    group: &[usize],
    clashes: &mut Clashes<'a>,
) {
    let are_one = |one: &'a ClusterProfile, other: &'a ClusterProfile| {
        is_other(one, other) && is_live(one) && is_live(other) && is_surely_one(sets, one, other)
    };
    let evidence = clashes.evidence();
    let mut known: BTreeMap<&str, Candidates> = BTreeMap::new();
    for place in group {
        let member = members[*place];
        let mut compared = 0;
        let (mut is_cut, mut is_found) = (false, false);
        for (_, candidates) in known.iter().filter(|(set, _)| **set != member.set) {
            let (profiles, is_sample) = candidates.of(kind, sets, member.profile);
            is_cut |= is_sample || compared >= COMPARED_IN_ALL;
            if is_found || compared >= COMPARED_IN_ALL {
                break;
            }
            compared += profiles.len();
            let mut twins = profiles
                .into_iter()
                .filter(|other| are_one(other, member.profile));
            is_found = twins.any(|twin| {
                clashes.put(*place, [twin, member.profile], are_one, |twin, profile| {
                    let [object, twin] = judged_first(evidence, profile, twin)?;
                    Some(finding(kind, Member::of(sets, object)?, Member::of(sets, twin)?))
                })
            });
        }
        if !is_found && is_cut {
            clashes.is_cut(member.profile);
        }
        known.entry(member.set).or_default().add(sets, member.profile);
    }
}

fn finding(kind: SharedIdentity, member: Member, twin: Member) -> Finding {
    let (path, value, what) = kind.describe(member.profile, twin.profile);
    Finding::on(
        member.profile,
        format!("one cluster is in the namespaces of two ClusterSets: {what}"),
    )
    .at(path)
    .expected(format!(
        "a cluster that is in ClusterSet {} alone",
        redacted(member.set)
    ))
    .observed(format!(
        "{}, as in {} of ClusterSet {}",
        redacted_or_absent(value),
        ObjectRef::from(twin.profile),
        redacted(twin.set)
    ))
}
