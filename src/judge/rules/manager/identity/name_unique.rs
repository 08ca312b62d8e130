//! One name, one cluster.

use std::{cmp::Reverse, collections::BTreeSet};

use evidence::{
    Evidence, ObjectRef, Origin, Version,
    api::{ClusterProfile, names::CONDITION_JOINED},
};
use jiff::Timestamp;

use crate::{
    hash::HashSet,
    shared::{
        lasted::Lasted,
        pairs::Pair,
        same_cluster::{DigestIndex, Relation, by_ids, cluster_ids, digest, note_bounds},
    },
    subjects::{Finding, Findings, Profile, by_name, name, sets::ClusterSets},
    text::redacted,
    time::Micros,
};

/// Maximum number of different profiles of one name that another one of that name is compared with: those that had their name,
/// and ids, for the longest.
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
    let (mut uncertain, mut unproven) = (0, 0);
    for group in index.groups() {
        let histories = group.into_iter().map(|place| &evidence.profiles[place]);
        let group = by_name(evidence, histories);
        let cut = one_name(evidence, findings, &sets, &group);
        let ids: Vec<u64> = cut.iter().filter_map(|named| named.ids).collect();
        // Those with one id were compared alike.
        let may_differ = ids.iter().any(|id| *id != ids[0]);
        let in_doubt = if may_differ { ids.len() } else { 0 };
        unproven += in_doubt;
        uncertain += cut.len() - in_doubt;
    }
    if unproven > 0 {
        findings.cannot_tell(format!(
            "{unproven} profiles share their name with many others and have other cluster ids than some of them, but were \
             compared with a few of them only"
        ));
    }
    findings.note_count(
        "",
        uncertain,
        " profiles share their name with many others, and were compared with a few of them only",
    );
}

/// Compares the profiles of one name. Returns those that were not compared with all others, and of which no proof was found.
fn one_name<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    sets: &ClusterSets<'e>,
    group: &[Profile<'e>],
) -> Vec<Named> {
    let group_of: Vec<Named> = group.iter().map(Named::of).collect();
    let mut claims = HashSet::default();
    let mut known: Vec<usize> = (0..group.len())
        .filter(|place| claims.insert(group_of[*place].claims))
        .collect();
    let mut cut: HashSet<usize> = HashSet::default();
    if known.len() > MAX_COMPARED {
        known.sort_by_key(|place| Reverse(group_of[*place].held));
        cut = known.drain(MAX_COMPARED..).collect();
        known.sort_unstable();
    }
    for (place, profile) in group.iter().enumerate() {
        let is_cut = cut.contains(&place);
        let others = known.iter().filter(|other| **other < place || is_cut);
        let clashes = others.filter_map(|other| {
            let pair = Pair::new(evidence, &group[*other], profile);
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
            if clash == Clash::ClusterIds && found.lasted == Lasted::Long {
                cut.remove(&place);
            }
            let last = found.last;
            if let Some(finding) = last.and_then(|(other, this)| finding(evidence, this, other, clash)) {
                found.judge(evidence, finding, findings);
            }
        }
    }
    let is_cut = |(place, _): &(usize, Named)| cut.contains(place);
    let cut = group_of.into_iter().enumerate().filter(is_cut);
    cut.map(|(_, named)| named).collect()
}

/// What a profile tells of the cluster that has its name.
struct Named {
    /// A digest of what it claims over time.
    claims: u64,
    /// A digest of its cluster ids while it had its name; none if it had no ids.
    ids: Option<u64>,
    /// For how long, as the runner saw it, it had its name and ids, and for how long its name.
    held: [Micros; 2],
}

impl Named {
    fn of(profile: &Profile) -> Self {
        let mut held = [0_i64; 2];
        let mut ids = BTreeSet::new();
        for life in &profile.lives {
            let ends = life.versions[1..].iter().map(Version::received);
            let ends = ends.chain([life.deleted.unwrap_or(Timestamp::MAX)]);
            for (version, end) in life.versions.iter().zip(ends) {
                if is_leaving(&version.object) {
                    continue;
                }
                let length = end.as_microsecond() - version.received().as_microsecond();
                let own: Vec<(usize, &str)> = cluster_ids(&version.object).collect();
                if !own.is_empty() {
                    ids.insert(digest(own));
                    held[0] = held[0].saturating_add(length);
                }
                held[1] = held[1].saturating_add(length);
            }
        }
        let ids = match ids.len() {
            0 => None,
            1 => ids.pop_first(),
            // When it changed them matters, too.
            _ => Some(digest(name(profile.last_life().last()))),
        };
        Self {
            claims: claims(profile),
            ids,
            held,
        }
    }
}

fn finding(
    evidence: &Evidence,
    this: &ClusterProfile,
    other: &ClusterProfile,
    clash: Clash,
) -> Option<Finding> {
    let (object, rival) = if evidence.judges(this) {
        (this, other)
    } else {
        (other, this)
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
