//! Clusters in ClusterSet namespaces.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, ObjectRef, api::ClusterProfile};

use crate::{
    reasons::NO_PROFILE_IN_CLUSTERSET,
    rules::{
        clocks::is_settled,
        finding::{Finding, Findings},
        same_cluster::{
            Candidates, IdentityIndex, MAX_COMPARED, SharedIdentity, is_surely_one, note_bounds,
            note_uncertain,
        },
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
        let judged = members.iter().filter(|member| evidence.judges(member.profile));
        judged.for_each(|_| findings.examine());
        return;
    }

    let mut index = IdentityIndex::default();
    for (place, member) in members.iter().enumerate() {
        if index.add(member.profile, place, None) && evidence.judges(member.profile) {
            findings.examine();
        }
    }
    if findings.examined == 0 && members.iter().any(|member| evidence.judges(member.profile)) {
        findings.cannot_tell("no profile in a ClusterSet's namespace identifies its cluster");
    }

    let mut twins = BTreeMap::new();
    let mut uncertain = BTreeSet::new();
    for (kind, groups) in index.groups() {
        for group in groups {
            for (place, twin) in across_sets(&members, &sets, kind, &group, &mut uncertain) {
                twins.entry(place).or_insert((kind, twin));
            }
        }
    }
    uncertain.retain(|place| !twins.contains_key(place));
    note_uncertain(uncertain.len(), findings);
    for (place, (kind, twin)) in twins {
        let (later, earlier) = (members[place], twin);
        let (object, twin) = if evidence.judges(later.profile) {
            (later, earlier)
        } else {
            (earlier, later)
        };
        if evidence.judges(object.profile) {
            findings.report(finding(kind, object, twin));
        }
    }
}

/// Among profiles that share an identity, finds those whose cluster has an earlier profile in another ClusterSet's
/// namespace. Returns each with that one, and adds to `uncertain` those that were not compared with all others.
fn across_sets<'a>(
    members: &[Member<'a>],
    sets: &ClusterSets<'a>,
    kind: SharedIdentity,
    group: &[usize],
    uncertain: &mut BTreeSet<usize>,
) -> Vec<(usize, Member<'a>)> {
    let mut known: BTreeMap<&str, Candidates> = BTreeMap::new();
    let mut twins = Vec::new();
    for place in group {
        let member = members[*place];
        if !member.is_settled {
            continue;
        }
        let mut compared = 0;
        let mut is_cut = false;
        let mut twin = None;
        for (set, candidates) in known.iter().filter(|(set, _)| **set != member.set) {
            let (profiles, is_sample) = candidates.of(kind, sets, member.profile);
            is_cut |= is_sample || compared >= COMPARED_IN_ALL;
            if twin.is_some() || compared >= COMPARED_IN_ALL {
                break;
            }
            compared += profiles.len();
            let same = profiles
                .into_iter()
                .find(|other| is_surely_one(sets, other, member.profile));
            twin = same.map(|profile| Member {
                profile,
                set,
                is_settled: true,
            });
        }
        match twin {
            Some(twin) => twins.push((*place, twin)),
            None if is_cut => _ = uncertain.insert(*place),
            None => {}
        }
        known.entry(member.set).or_default().add(sets, member.profile);
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
