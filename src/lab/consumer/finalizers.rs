//! The finalizer by which the consumer keeps a profile until it has left the member.

use kube::api::DynamicObject;

use super::world::{Misbehaviour, World};

/// Its finalizer.
const FINALIZER: &str = "reference-consumer.conformance.example/leave";

/// The finalizers that a profile is to have, if others than it has: the consumer's own while it acts on it.
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

/// Those without the consumer's own, if that is there.
pub(super) fn without(profile: &DynamicObject) -> Option<Vec<String>> {
    let finalizers = profile.metadata.finalizers.as_ref()?;
    let others: Vec<String> = finalizers
        .iter()
        .filter(|name| *name != FINALIZER)
        .cloned()
        .collect();
    (others.len() < finalizers.len()).then_some(others)
}
