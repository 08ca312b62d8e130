//! Which profiles the consumer acts on, and its finalizer on them.

use std::{collections::BTreeSet, sync::Arc};

use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MEMBER_ID};
use kube::api::DynamicObject;

use super::ConsumerWorld;
use crate::client::{conditions, is_false};

/// Its finalizer, which keeps a profile until the consumer has left its member.
const FINALIZER: &str = "reference-consumer.conformance.example/leave";

/// The finalizers that a profile should have, if they differ from those that it has.
pub(super) fn wanted_finalizers(
    profile: &DynamicObject,
    is_acted_on: bool,
    world: &ConsumerWorld,
) -> Option<Vec<String>> {
    if !is_acted_on {
        return finalizers_without_own(profile);
    }
    let finalizes = world.habits.finalizes || world.has("consumer-hub/deletion-not-blocked");
    let mut finalizers = profile.metadata.finalizers.clone().unwrap_or_default();
    if !finalizes || finalizers.iter().any(|name| name == FINALIZER) {
        return None;
    }
    finalizers.push(FINALIZER.to_owned());
    Some(finalizers)
}

/// The finalizers without the consumer's own; none if the profile does not have it.
pub(super) fn finalizers_without_own(profile: &DynamicObject) -> Option<Vec<String>> {
    let finalizers = profile.metadata.finalizers.as_ref()?;
    let other_finalizers: Vec<String> = finalizers
        .iter()
        .filter(|name| *name != FINALIZER)
        .cloned()
        .collect();
    (other_finalizers.len() < finalizers.len()).then_some(other_finalizers)
}

/// Identifies a profile among those that it reads.
pub(super) fn key(profile: &DynamicObject, world: &ConsumerWorld) -> String {
    let name = profile.metadata.name.as_deref().unwrap_or_default();
    if world.has("consumer-scope/namespaces-apart") {
        return name.to_owned();
    }
    let namespace = profile.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{name}")
}

/// The profiles that it acts on. `passed_over` are the keys of those that it once passed over.
pub(super) fn acted_on<'p>(
    profiles: &'p [Arc<DynamicObject>],
    unselected: &'p [Arc<DynamicObject>],
    world: &ConsumerWorld,
    passed_over: &mut BTreeSet<String>,
) -> Vec<&'p DynamicObject> {
    let is_first = |profile: &&DynamicObject| {
        world.habits.acts_on_duplicates || is_first_of_its_member(profile, profiles, unselected, world)
    };
    let (first, skipped): (Vec<_>, Vec<_>) = profiles.iter().map(Arc::as_ref).partition(is_first);
    passed_over.extend(skipped.into_iter().map(|profile| key(profile, world)));
    let is_left_out = |profile: &DynamicObject| {
        profile.metadata.deletion_timestamp.is_some()
            || (world.has("consumer-identity/next-takes-over") && passed_over.contains(&key(profile, world)))
            || (is_false(profile, CONDITION_HEALTHY)
                && !world.habits.calls_unhealthy
                && !world.has("consumer-health/unhealthy-not-dispatched"))
            || (has_unknown_condition(profile) && world.has("consumer-health/unknown-values-tolerated"))
    };
    let mut acted_on: Vec<&DynamicObject> = first
        .into_iter()
        .filter(|profile| !is_left_out(profile))
        .collect();
    if world.has("consumer-scope/namespaces-apart") {
        let mut names = BTreeSet::new();
        acted_on.retain(|profile| names.insert(key(profile, world)));
    }
    acted_on
}

/// Whether a profile is the only oldest one of its member in its namespace (KEP-4322).
fn is_first_of_its_member(
    profile: &DynamicObject,
    profiles: &[Arc<DynamicObject>],
    unselected: &[Arc<DynamicObject>],
    world: &ConsumerWorld,
) -> bool {
    let group = of_one_member(profile, profiles, unselected, world);
    let created = |profile: &DynamicObject| profile.metadata.creation_timestamp.as_ref().map(|time| time.0);
    if world.has("consumer-identity/oldest-wins") && created_apart(&group) {
        return group.iter().all(|other| created(other) <= created(profile));
    }
    let oldest = group.iter().map(|other| created(other)).min().flatten();
    let mut tied = group.iter().filter(|other| created(other) == oldest);
    if world.has("consumer-identity/tie-acts-on-none") {
        return tied
            .next()
            .is_some_and(|first| first.metadata.uid == profile.metadata.uid);
    }
    tied.all(|other| other.metadata.uid == profile.metadata.uid)
}

/// The profiles with the same member id among which the consumer chooses, this one included.
pub(super) fn of_one_member<'p>(
    profile: &'p DynamicObject,
    profiles: &'p [Arc<DynamicObject>],
    unselected: &'p [Arc<DynamicObject>],
    world: &ConsumerWorld,
) -> Vec<&'p DynamicObject> {
    let id = |profile: &DynamicObject| {
        let id = profile.metadata.labels.as_ref()?.get(LABEL_MEMBER_ID)?;
        (!id.is_empty() || world.has("consumer-identity/empty-is-absent")).then(|| id.clone())
    };
    let Some(member_id) = id(profile) else {
        return vec![profile];
    };
    let is_everywhere = world.has("consumer-identity/other-inventories-stay");
    let elsewhere = if is_everywhere { unselected } else { &[] };
    profiles
        .iter()
        .chain(elsewhere)
        .map(Arc::as_ref)
        .filter(|other| id(other).as_ref() == Some(&member_id))
        .filter(|other| is_everywhere || other.metadata.namespace == profile.metadata.namespace)
        .collect()
}

/// Whether all were created at different times.
fn created_apart(profiles: &[&DynamicObject]) -> bool {
    let times: BTreeSet<_> = profiles
        .iter()
        .map(|profile| profile.metadata.creation_timestamp.as_ref().map(|time| time.0))
        .collect();
    times.len() == profiles.len()
}

fn has_unknown_condition(profile: &DynamicObject) -> bool {
    let mut conditions = conditions(profile);
    conditions
        .any(|condition| condition["type"] != CONDITION_HEALTHY && condition["type"] != CONDITION_JOINED)
}
