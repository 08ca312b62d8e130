//! Clusters in ClusterSet namespaces.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, ObjectRef, api::ClusterProfile};

use crate::{
    reasons::NO_PROFILE_IN_CLUSTERSET,
    rules::{
        clocks::is_settled,
        finding::{Finding, Findings},
        same_cluster::{DigestIndex, MAX_COMPARED, SharedIdentity, is_surely_one, note_bounds},
        sets::ClusterSets,
        text::{redacted, redacted_or_absent},
    },
};

/// Maximum number of earlier profiles that a profile is compared with, in all ClusterSets together.
const COMPARED_IN_ALL: usize = 8 * MAX_COMPARED;

/// A profile in a ClusterSet's namespace.
#[derive(Clone, Copy)]
struct Member<'a> {
    profile: &'a ClusterProfile,
    set: &'a str,
    is_settled: bool,
}

/// `clustersets/one-set-per-cluster`
///
/// No cluster has profiles in the namespaces of two ClusterSets.
///
/// A cluster that moves between sets may briefly have both, so a pair with a new or terminating profile is accepted.
pub(in crate::rules) fn one_set_per_cluster(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NO_PROFILE_IN_CLUSTERSET);
    note_bounds(evidence, findings);
    let scope = &evidence.header.scope;
    let sets = ClusterSets::of(evidence);
    let members: Vec<Member> = evidence
        .profiles
        .iter()
        .filter_map(|history| {
            let profile = history.current()?;
            let set = sets.of_namespace(&profile.metadata.namespace)?;
            Some(Member {
                profile,
                set,
                is_settled: is_settled(evidence, history),
            })
        })
        .collect();
    let different: BTreeSet<&str> = members.iter().map(|member| member.set).collect();
    if different.len() < 2 {
        // With fewer than two ClusterSets, no cluster is in two.
        let judged = members.iter().filter(|member| scope.holds(member.profile));
        judged.for_each(|_| findings.examine());
        return;
    }

    let mut index = SharedIdentity::ALL.map(|_| DigestIndex::default());
    for (place, member) in members.iter().enumerate() {
        let mut is_told = false;
        for (kind, index) in SharedIdentity::ALL.into_iter().zip(&mut index) {
            kind.each_digest(member.profile, |digest| {
                index.add(digest, place);
                is_told = true;
            });
        }
        if is_told && scope.holds(member.profile) {
            findings.examine();
        }
    }
    if findings.examined == 0 && members.iter().any(|member| scope.holds(member.profile)) {
        findings.cannot_tell("no profile in a ClusterSet's namespace identifies its cluster");
    }

    let mut twins = BTreeMap::new();
    for (kind, index) in SharedIdentity::ALL.into_iter().zip(index) {
        for group in index.groups() {
            for (place, twin) in across_sets(&members, &sets, &group) {
                twins.entry(place).or_insert((kind, twin));
            }
        }
    }
    for (place, (kind, twin)) in twins {
        let (later, earlier) = (members[place], members[twin]);
        let (object, twin) = if scope.holds(later.profile) {
            (later, earlier)
        } else {
            (earlier, later)
        };
        if scope.holds(object.profile) {
            findings.report(finding(kind, object, twin));
        }
    }
}

/// Among profiles that share an identity, finds those whose cluster has an earlier profile in another ClusterSet's
/// namespace. Returns each with that one.
fn across_sets<'a>(members: &[Member<'a>], sets: &ClusterSets<'a>, group: &[usize]) -> Vec<(usize, usize)> {
    let mut known: Vec<usize> = Vec::new();
    let mut twins = Vec::new();
    for place in group {
        let member = members[*place];
        if !member.is_settled {
            continue;
        }
        let of_set = |other: &&usize| members[**other].set == member.set;
        let mut others = known.iter().filter(|other| !of_set(other));
        let twin = others.find(|other| is_surely_one(sets, members[**other].profile, member.profile));
        twins.extend(twin.map(|twin| (*place, *twin)));
        if known.len() < COMPARED_IN_ALL && known.iter().filter(of_set).count() < MAX_COMPARED {
            known.push(*place);
        }
    }
    twins
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
