//! The conditions of two versions of a profile, by their types.

use std::sync::Arc;

use evidence::api::{ClusterProfile, Condition};

use crate::hash::HashMap;

/// Whether two versions have the same conditions, and share their memory. Nearly all successive ones do.
pub(super) fn are_shared(before: &ClusterProfile, after: &ClusterProfile) -> bool {
    Arc::ptr_eq(&before.status.conditions, &after.status.conditions)
}

/// The conditions that two versions share, without types that occur twice in either; none if nothing changed.
pub(super) fn pairs<'a>(
    before: &'a ClusterProfile,
    after: &'a ClusterProfile,
) -> impl Iterator<Item = (&'a Condition, &'a Condition)> {
    let all = came_or_stayed(before, after).into_iter();
    all.filter_map(|(old, new)| Some((old?, new)))
}

/// The conditions of a version, each with the one of that type in the version before, without types that occur twice in
/// either; none if nothing changed.
pub(super) fn came_or_stayed<'a>(
    before: &'a ClusterProfile,
    after: &'a ClusterProfile,
) -> Vec<(Option<&'a Condition>, &'a Condition)> {
    if are_shared(before, after) {
        return Vec::new();
    }
    let (old, new) = (by_type(before), by_type(after));
    let conditions = after.status.conditions.iter();
    let once = conditions.filter(|condition| new[&*condition.kind].is_some());
    let with_old = once.filter_map(|condition| match old.get(&*condition.kind) {
        None => Some((None, condition)),
        Some(old) => Some((Some((*old)?), condition)),
    });
    with_old.collect()
}

/// Whether a type occurs once in a version.
pub(super) fn has_any(profile: &ClusterProfile) -> bool {
    by_type(profile).values().any(Option::is_some)
}

/// The conditions of a version by type; none for a type that occurs twice.
fn by_type(profile: &ClusterProfile) -> HashMap<&str, Option<&Condition>> {
    let mut conditions = HashMap::default();
    for condition in &*profile.status.conditions {
        let twice = |known: &mut Option<&Condition>| *known = None;
        let known = conditions.entry(&*condition.kind);
        known.and_modify(twice).or_insert(Some(condition));
    }
    conditions
}
