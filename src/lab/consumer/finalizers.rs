//! The finalizer that keeps a profile until the consumer has left its member.

use kube::api::DynamicObject;

use super::world::{Misbehaviour, World};

/// Its finalizer.
const FINALIZER: &str = "reference-consumer.conformance.example/leave";

/// The finalizers that a profile should have, if they differ from those that it has.
pub(super) fn wanted(profile: &DynamicObject, is_acted_on: bool, world: &World) -> Option<Vec<String>> {
    if !is_acted_on {
        return without(profile);
    }
    let finalizes = world.habits.finalizes || world.has(Misbehaviour::LeavesFinalizers);
    let mut finalizers = profile.metadata.finalizers.clone().unwrap_or_default();
    if !finalizes || finalizers.iter().any(|name| name == FINALIZER) {
        return None;
    }
    finalizers.push(FINALIZER.to_owned());
    Some(finalizers)
}

/// The finalizers without the consumer's own; none if the profile does not have it.
pub(super) fn without(profile: &DynamicObject) -> Option<Vec<String>> {
    let finalizers = profile.metadata.finalizers.as_ref()?;
    let others: Vec<String> = finalizers
        .iter()
        .filter(|name| *name != FINALIZER)
        .cloned()
        .collect();
    (others.len() < finalizers.len()).then_some(others)
}
