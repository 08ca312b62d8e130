//! Clusters in ClusterSet namespaces.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, ObjectRef, ProfileHistory, api::ClusterProfile};

use crate::{
    reasons::NO_PROFILE_IN_CLUSTERSET,
    rules::{
        clocks::is_settled,
        division::Tie,
        finding::{Finding, Findings},
        same_cluster::{
            Candidates, IdentityIndex, MAX_COMPARED, SharedIdentity, identities, is_identified,
            is_surely_one, note_bounds, note_uncertain,
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
    for member in &members {
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
    let different: BTreeSet<&str> = members.iter().map(|member| member.set).collect();
    if different.len() < 2 {
        return;
    }

    let index = IdentityIndex::of(members.iter().map(|member| (member.profile, None)));
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

/// The ties of a profile in a ClusterSet's namespace: to all such with which it shares an identity.
pub(in crate::rules) fn ties_of_cluster(evidence: &Evidence, history: &ProfileHistory) -> Vec<Tie> {
    let sets = ClusterSets::of(evidence);
    let profile = history.current();
    let profile = profile.filter(|profile| sets.of_namespace(&profile.metadata.namespace).is_some());
    let identities = profile.map(|profile| identities(profile, None));
    identities.into_iter().flatten().map(Tie::to_all).collect()
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
