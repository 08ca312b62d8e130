//! The names of profiles.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef, ProfileHistory,
    api::{ClusterProfile, names},
};

use crate::rules::{
    division::Tie,
    finding::{Finding, Findings},
    same_cluster::{DigestIndex, Relation, by_ids, cluster_ids, digest, may_be_one, note_bounds},
    sets::ClusterSets,
    text::redacted,
};

/// Maximum number of different profiles of one name that another one of that name is compared with.
const MAX_COMPARED: usize = 8;

/// Why two profiles of one name clash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Clash {
    /// Their cluster ids differ, which proves two clusters.
    ClusterIds,
    /// Their member ids differ, and nothing shows one cluster.
    MemberIds,
    /// Their managers differ: a hint.
    Managers,
}

/// `identity/name-unique`
///
/// No two clusters share a profile name on the hub.
///
/// Ids that differ prove two clusters. Without proof, a name that two managers use is a warning. Endpoints prove
/// nothing: one manager may publish the private ones and another the public ones.
pub(in crate::rules) fn name_unique(evidence: &Evidence, findings: &mut Findings) {
    evidence.inventory().for_each(|_| findings.examine());
    note_bounds(evidence, findings);
    // A terminating profile frees its name.
    let profiles: Vec<&ClusterProfile> = evidence.standing().collect();
    let mut index = DigestIndex::default();
    for (place, profile) in profiles.iter().enumerate() {
        index.add(digest(&profile.metadata.name), place);
    }
    let sets = ClusterSets::of(evidence);
    let mut clashes = BTreeMap::new();
    let mut uncertain = 0;
    for group in index.groups() {
        let mut known: Vec<(u64, &ClusterProfile)> = Vec::new();
        for place in group {
            let profile = profiles[place];
            let worst = known
                .iter()
                .filter_map(|(_, other)| Some((clash(&sets, other, profile)?, *other)))
                .min_by_key(|(clash, _)| *clash);
            let claims = digest((profile.manager(), ids(profile)));
            let is_new = known.iter().all(|(claimed, _)| *claimed != claims);
            let is_proven = worst.is_some_and(|(clash, _)| clash != Clash::Managers);
            if let Some(worst) = worst {
                clashes.insert(place, worst);
            }
            if is_new && known.len() < MAX_COMPARED {
                known.push((claims, profile));
            } else if is_new && !is_proven {
                uncertain += 1;
            }
        }
    }
    for (place, (clash, other)) in clashes {
        report(evidence, profiles[place], other, clash, findings);
    }
    findings.note_count(
        "",
        uncertain,
        " profiles share their name with many others, and were compared with a few of them only",
    );
}

/// The ties of a profile that stands: to all with its name.
pub(in crate::rules) fn ties_of_name(_: &Evidence, history: &ProfileHistory) -> Vec<Tie> {
    let tie = |profile: &ClusterProfile| Tie::to_all(digest(&profile.metadata.name));
    history.standing().map(tie).into_iter().collect()
}

fn report(
    evidence: &Evidence,
    later: &ClusterProfile,
    earlier: &ClusterProfile,
    clash: Clash,
    findings: &mut Findings,
) {
    let (object, rival) = if evidence.judges(later) {
        (later, earlier)
    } else {
        (earlier, later)
    };
    if !evidence.judges(object) {
        return;
    }
    let message = match clash {
        Clash::ClusterIds => "two clusters share a name: their cluster ids differ",
        Clash::MemberIds => "two clusters share a name: their member ids differ",
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
    findings.report(match clash {
        Clash::ClusterIds | Clash::MemberIds => finding,
        Clash::Managers => finding.advisory(),
    });
}

/// How two profiles of one name clash, if they do.
fn clash<'a>(sets: &ClusterSets<'a>, one: &'a ClusterProfile, other: &'a ClusterProfile) -> Option<Clash> {
    if one.metadata.name != other.metadata.name {
        return None;
    }
    let member_ids_differ = || {
        member_id(one)
            .zip(member_id(other))
            .is_some_and(|(one, other)| one != other)
    };
    let (ours, theirs) = (one.manager(), other.manager());
    match by_ids(sets, one, other) {
        Relation::Different => Some(Clash::ClusterIds),
        Relation::Unknown if member_ids_differ() && !may_be_one(one, other) => Some(Clash::MemberIds),
        _ if ours != theirs && !ours.is_empty() && !theirs.is_empty() => Some(Clash::Managers),
        _ => None,
    }
}

/// The ids that a profile claims for its cluster.
fn ids(profile: &ClusterProfile) -> (Vec<(usize, &str)>, Option<&str>) {
    (cluster_ids(profile).collect(), member_id(profile))
}

fn member_id(profile: &ClusterProfile) -> Option<&str> {
    let id = profile.label(names::LABEL_MEMBER_ID);
    id.filter(|id| !id.is_empty())
}

/// `identity/name-follows-guidance`
///
/// A profile's name is generated, or begins with the manager's name. A `generateName` that the name does not begin with
/// has generated nothing, so the name is of the manager's own making.
pub(in crate::rules) fn name_follows_guidance(evidence: &Evidence, findings: &mut Findings) {
    for profile in evidence.inventory() {
        findings.examine();
        let name = &*profile.metadata.name;
        let manager = profile.manager();
        let prefix = profile
            .metadata
            .generate_name
            .as_deref()
            .filter(|prefix| !prefix.is_empty());
        if let Some(prefix) = prefix {
            if !is_generated(name, prefix) {
                findings.report(
                    Finding::on(
                        profile,
                        "generateName stands beside a name that was not generated from it",
                    )
                    .at("metadata.name")
                    .expected(format!("{}…", redacted(prefix)))
                    .observed(redacted(name)),
                );
            }
            continue;
        }
        if !manager.is_empty() && name.starts_with(manager) {
            continue;
        }
        findings.report(
            Finding::on(
                profile,
                "name is not generated and does not begin with the manager's name",
            )
            .at("metadata.name")
            .expected(match manager {
                "" => "a name made by metadata.generateName".to_owned(),
                manager => format!("a name made by metadata.generateName, or {}…", redacted(manager)),
            })
            .observed(redacted(name)),
        );
    }
}

/// Whether the hub generated a name from a prefix. It cuts a prefix that would make the name longer than 63 characters.
fn is_generated(name: &str, prefix: &str) -> bool {
    const LONGEST_PREFIX: usize = 58;
    let kept = prefix.get(..LONGEST_PREFIX).unwrap_or(prefix);
    name.strip_prefix(kept).is_some_and(|rest| !rest.is_empty())
}
