//! The names of profiles.

use std::collections::BTreeMap;

use evidence::{Evidence, ObjectRef, api::ClusterProfile};

use crate::rules::{
    finding::{Finding, Findings},
    same_cluster::{DigestIndex, Relation, by_all, by_ids, digest, note_bounds},
    sets::ClusterSets,
    text::redacted,
};

/// Maximum number of profiles of one name that a profile is compared with.
const MAX_COMPARED: usize = 8;

/// `identity/name-unique`
///
/// No two clusters share a profile name on the hub.
///
/// A manager may publish one member under one name in several namespaces. Profiles of one name describe two clusters
/// if their managers differ, or if they claim to be different clusters.
pub(in crate::rules) fn name_unique(evidence: &Evidence, findings: &mut Findings) {
    let scope = &evidence.header.scope;
    evidence.inventory().for_each(|_| findings.examine());
    note_bounds(evidence, findings);
    // A terminating profile frees its name.
    let profiles: Vec<&ClusterProfile> = evidence
        .everyone()
        .filter(|profile| profile.metadata.deletion_timestamp.is_none())
        .collect();
    let mut index = DigestIndex::default();
    for (place, profile) in profiles.iter().enumerate() {
        index.add(digest(&profile.metadata.name), place);
    }
    let sets = ClusterSets::of(evidence);
    let mut clashes = BTreeMap::new();
    for group in index.groups() {
        let mut known: Vec<&ClusterProfile> = Vec::new();
        for place in group {
            let profile = profiles[place];
            let clash = known
                .iter()
                .find_map(|other| Some((*other, reason(&sets, other, profile)?)));
            if let Some(clash) = clash {
                clashes.insert(place, clash);
            } else if known.len() < MAX_COMPARED {
                known.push(profile);
            }
        }
    }
    for (place, (other, reason)) in clashes {
        let profile = profiles[place];
        let (object, rival) = if scope.holds(profile) {
            (profile, other)
        } else {
            (other, profile)
        };
        if scope.holds(object) {
            findings.report(
                Finding::on(object, format!("two clusters share a name: {reason}"))
                    .at("metadata.name")
                    .expected("a name that no other cluster on the hub has")
                    .observed(format!(
                        "{}, as has {}",
                        redacted(&object.metadata.name),
                        ObjectRef::from(rival)
                    )),
            );
        }
    }
}

/// Why two profiles of one name describe two clusters; none if they may describe one.
fn reason<'a>(
    sets: &ClusterSets<'a>,
    one: &'a ClusterProfile,
    other: &'a ClusterProfile,
) -> Option<&'static str> {
    if one.metadata.name != other.metadata.name {
        return None;
    }
    let (ours, theirs) = (one.manager(), other.manager());
    if ours != theirs && !ours.is_empty() && !theirs.is_empty() {
        return Some("their managers differ");
    }
    match (by_ids(sets, one, other), by_all(sets, one, other)) {
        (Relation::Different, _) => Some("their cluster ids differ"),
        (_, Relation::Different) => Some("they have no endpoint in common"),
        _ => None,
    }
}

/// `identity/name-follows-guidance`
///
/// A profile's name is generated, or begins with the manager's name.
pub(in crate::rules) fn name_follows_guidance(evidence: &Evidence, findings: &mut Findings) {
    for profile in evidence.inventory() {
        findings.examine();
        let generated = profile
            .metadata
            .generate_name
            .as_deref()
            .is_some_and(|p| !p.is_empty());
        let manager = profile.manager();
        if generated || (!manager.is_empty() && profile.metadata.name.starts_with(manager)) {
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
            .observed(redacted(&profile.metadata.name)),
        );
    }
}
