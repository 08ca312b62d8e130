//! Which of several profiles with one member id came first.

use std::collections::BTreeMap;

use evidence::{Evidence, ObjectRef, api::ClusterProfile, parse_time};
use jiff::Timestamp;

use super::member_id::{NONE_SET, PATH, key};
use crate::{
    shared::same_cluster::{DigestIndex, digest},
    subjects::{Finding, Findings},
    text::redacted,
};

/// `identity/member-id-no-tie`
///
/// Of the profiles with one member id in a namespace, one is the oldest.
///
/// That they share the id is the matter of `identity/member-id-unique`. Younger profiles may tie: consumers ignore them.
pub(in crate::rules) fn member_id_no_tie(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(NONE_SET);
    // Consumers do not choose a profile that is being deleted.
    let profiles: Vec<&ClusterProfile> = evidence.live().collect();
    let mut index = DigestIndex::default();
    for (place, profile) in profiles.iter().enumerate() {
        if let Some(key) = key(profile) {
            index.add(digest(key), place);
            if evidence.judges(profile) {
                findings.examine();
            }
        }
    }
    let mut groups: BTreeMap<(&str, &str), Vec<&ClusterProfile>> = BTreeMap::new();
    for place in index.groups().into_iter().flatten() {
        if let Some(key) = key(profiles[place]) {
            groups.entry(key).or_default().push(profiles[place]);
        }
    }
    for ((_, id), group) in groups {
        if !group.iter().any(|profile| evidence.judges(profile)) {
            continue;
        }
        let tied = match oldest(&group) {
            Ok(oldest) => oldest,
            Err(undated) => {
                findings.cannot_tell(format!(
                    "{} has no creationTimestamp, and others have its member id",
                    ObjectRef::from(undated)
                ));
                continue;
            }
        };
        let [first, rest @ ..] = tied.as_slice() else {
            continue;
        };
        for profile in rest {
            let (object, rival) = if evidence.judges(profile) {
                (profile, first)
            } else {
                (first, profile)
            };
            if evidence.judges(object) {
                findings.report(
                    Finding::on(*object, "two profiles with one member id are equally old")
                        .at("metadata.creationTimestamp")
                        .expected(format!("one oldest profile with {PATH} {}", redacted(id)))
                        .observed(format!(
                            "{}, as has {}",
                            redacted(object.metadata.creation_timestamp.as_deref().unwrap_or_default()),
                            ObjectRef::from(*rival)
                        )),
                );
            }
        }
    }
}

/// The oldest profiles of a group: several if they tie.
///
/// # Errors
/// The first profile without a time of creation, if the group has others.
fn oldest<'a>(group: &[&'a ClusterProfile]) -> Result<Vec<&'a ClusterProfile>, &'a ClusterProfile> {
    if let [only] = group {
        return Ok(vec![only]);
    }
    let mut tied: Vec<&ClusterProfile> = Vec::new();
    let mut first: Option<Timestamp> = None;
    for profile in group {
        let created = profile.metadata.creation_timestamp.as_deref();
        let created = created.and_then(parse_time).ok_or(*profile)?;
        if first.is_none_or(|first| created < first) {
            first = Some(created);
            tied.clear();
        }
        if first == Some(created) {
            tied.push(profile);
        }
    }
    Ok(tied)
}
