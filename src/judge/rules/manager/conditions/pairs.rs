//! The conditions of two versions of a profile, by their types.

use std::sync::Arc;

use evidence::api::{ClusterProfile, Condition};

use crate::hash::HashMap;

/// Whether two versions share the memory of their conditions, as nearly all successive ones do.
pub(super) fn are_shared(before: &ClusterProfile, after: &ClusterProfile) -> bool {
    Arc::ptr_eq(&before.status.conditions, &after.status.conditions)
}

/// The conditions with a type that occurs exactly once in each of two versions.
pub(super) fn pairs<'a>(
    before: &'a ClusterProfile,
    after: &'a ClusterProfile,
) -> Vec<(&'a Condition, &'a Condition)> {
    let (old, new) = (by_type(before), by_type(after));
    let conditions = after.status.conditions.iter();
    let once = conditions.filter(|condition| new[&*condition.kind].is_some());
    once.filter_map(|condition| Some(((*old.get(&*condition.kind)?)?, condition)))
        .collect()
}

/// The condition of a type that occurs exactly once.
pub(super) fn only_of_type<'a>(profile: &'a ClusterProfile, kind: &str) -> Option<&'a Condition> {
    let conditions = profile.status.conditions.iter();
    let mut of_type = conditions.filter(|condition| *condition.kind == *kind);
    of_type.next().filter(|_| of_type.next().is_none())
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
