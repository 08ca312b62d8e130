//! One name, one cluster.

use std::cmp::Reverse;

use evidence::{
    Evidence, ObjectRef, Origin,
    api::{ClusterProfile, names::CONDITION_JOINED},
};

use crate::{
    rules::{
        finding::{Finding, Findings},
        pairs::Pair,
        same_cluster::{DigestIndex, Relation, by_ids, cluster_ids, digest, note_bounds},
        sets::ClusterSets,
        text::redacted,
    },
    subjects::{Profile, by_name, name},
};

/// Maximum number of different profiles of one name that another one of that name is compared with.
const MAX_COMPARED: usize = 8;

/// Why two profiles of one name clash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Clash {
    /// Their cluster ids differ, which proves two clusters.
    ClusterIds,
    /// Their managers differ: a hint.
    Managers,
}

/// `identity/name-unique`
///
/// No two clusters share a profile name on the hub for longer than the grace.
///
/// Cluster ids that differ prove two clusters. Without proof, a name that two managers use is a warning. Endpoints prove
/// nothing: one manager may publish the private ones and another the public ones. Nor do the ids of inventory members: one
/// member may be in several inventories. A profile that is not joined, or terminating, frees its name.
pub(in crate::rules) fn name_unique(evidence: &Evidence, findings: &mut Findings) {
    evidence.inventory().for_each(|_| findings.examine());
    note_bounds(evidence, findings);
    let mut index = DigestIndex::default();
    for (place, history) in evidence.profiles.iter().enumerate() {
        index.add(digest(&history.last().metadata.name), place);
    }
    let sets = ClusterSets::of(evidence);
    let mut uncertain = 0;
    for group in index.groups() {
        let histories = group.into_iter().map(|place| &evidence.profiles[place]);
        let group = by_name(evidence, histories);
        uncertain += one_name(evidence, findings, &sets, &group);
    }
    findings.note_count(
        "",
        uncertain,
        " profiles share their name with many others, and were compared with a few of them only",
    );
}

/// Compares the profiles of one name. Returns how many were not compared with all others.
fn one_name<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    sets: &ClusterSets<'e>,
    group: &[Profile<'e>],
) -> usize {
    let mut uncertain = 0;
    let mut known: Vec<(u64, &Profile)> = Vec::new();
    for profile in group {
        let mut is_proven = false;
        let clashes = known.iter().filter_map(|(_, other)| {
            let pair = Pair::new(evidence, other, profile);
            // Nearly all pairs never clash, and need no timeline.
            if !pair.ever(|one, other| clash(sets, one, other).is_some()) {
                return None;
            }
            [Clash::ClusterIds, Clash::Managers]
                .into_iter()
                .find_map(|worst| {
                    let found = pair
                        .while_(|one, other| clash(sets, one, other).is_some_and(|clash| clash <= worst))?;
                    Some((worst, found))
                })
        });
        // What lasted tells the most, and of that a proof.
        let worst = clashes.min_by_key(|(clash, found)| (Reverse(found.lasted), *clash));
        if let Some((clash, found)) = worst {
            is_proven = clash == Clash::ClusterIds;
            let last = found.last;
            if let Some(finding) = last.and_then(|(earlier, later)| finding(evidence, later, earlier, clash))
            {
                found.judge(evidence, finding, findings);
            }
        }
        let claims = claims(profile);
        let is_new = known.iter().all(|(claimed, _)| *claimed != claims);
        if is_new && known.len() < MAX_COMPARED {
            known.push((claims, profile));
        } else if is_new && !is_proven {
            uncertain += 1;
        }
    }
    uncertain
}

fn finding(
    evidence: &Evidence,
    later: &ClusterProfile,
    earlier: &ClusterProfile,
    clash: Clash,
) -> Option<Finding> {
    let (object, rival) = if evidence.judges(later) {
        (later, earlier)
    } else {
        (earlier, later)
    };
    if !evidence.judges(object) {
        return None;
    }
    let message = match clash {
        Clash::ClusterIds => "two clusters share a name: their cluster ids differ",
        Clash::Managers => "two managers use one name, perhaps for two clusters",
    };
    let finding = Finding::on(object, message)
        .at("metadata.name")
        .expected("a name that no other cluster on the hub has")
        .observed(format!(
            "{}, as has {}",
            redacted(&object.metadata.name),
            ObjectRef::from(rival)
        ));
    Some(match clash {
        Clash::ClusterIds => finding,
        Clash::Managers => finding.advisory(),
    })
}

/// How two profiles of one name clash, if they do.
fn clash<'a>(sets: &ClusterSets<'a>, one: &'a ClusterProfile, other: &'a ClusterProfile) -> Option<Clash> {
    if [one, other].into_iter().any(is_leaving) {
        return None;
    }
    let (ours, theirs) = (one.manager(), other.manager());
    match by_ids(sets, one, other) {
        Relation::Different => Some(Clash::ClusterIds),
        _ if ours != theirs && !ours.is_empty() && !theirs.is_empty() => Some(Clash::Managers),
        _ => None,
    }
}

/// Whether a profile frees its name: its cluster may have been rebuilt.
fn is_leaving(profile: &ClusterProfile) -> bool {
    let joined = profile.condition(CONDITION_JOINED);
    profile.metadata.deletion_timestamp.is_some() || joined.is_some_and(|joined| &*joined.status == "False")
}

/// A digest of the managers and the cluster ids that a profile claims over time. A profile that was not there all the time
/// stands for no other.
fn claims(profile: &Profile) -> u64 {
    let [life] = &profile.lives[..] else {
        return digest(name(profile.last_life().last()));
    };
    if life.origin != Origin::Listed || life.deleted.is_some() {
        return digest(name(life.last()));
    }
    let claims = life.versions.iter().map(|version| {
        let profile = &version.object;
        let ids: Vec<(usize, &str)> = cluster_ids(profile).collect();
        digest((is_leaving(profile), profile.manager(), ids))
    });
    let mut claims: Vec<u64> = claims.collect();
    claims.dedup();
    // When it changed its claims matters, too.
    if claims.len() > 1 {
        return digest(name(life.last()));
    }
    digest(claims)
}
