//! Slices that another program may have copied from a scheduler's.

use std::collections::HashMap;

use evidence::{
    Evidence, ObjectRef, SliceHistory,
    api::{PlacementDecision, names},
};

use super::actors::publishers_of;

/// The slices of all namespaces by their names, which copies keep.
///
/// Replicators and consumers copy slices into the namespaces of tenants, with all that the scheduler wrote. What is wrong
/// with such a copy alone is not the scheduler's fault: a reference without a namespace is to another profile there.
pub(in crate::rules) struct Copies<'e>(HashMap<&'e str, Vec<&'e SliceHistory>>);

impl<'e> Copies<'e> {
    /// Those of all slices, judged or not.
    pub(in crate::rules) fn of(evidence: &'e Evidence) -> Self {
        let mut by_name: HashMap<&str, Vec<&SliceHistory>> = HashMap::new();
        for history in &evidence.slices {
            by_name
                .entry(&history.last().metadata.name)
                .or_default()
                .push(history);
        }
        Self(by_name)
    }

    /// Whether the slices of that name may all be copies.
    pub(in crate::rules) fn hold(&self, object: &ObjectRef) -> bool {
        let Some(alike) = self.0.get(object.name.as_str()) else {
            return false;
        };
        let is_own = |history: &&&SliceHistory| *history.last().metadata.namespace == *object.namespace;
        let mut own = alike.iter().filter(is_own).peekable();
        own.peek().is_some() && own.all(|own| alike.iter().any(|other| is_copy(own.last(), other)))
    }
}

/// Whether a slice may be a copy of one in another namespace with its name: it has the same scheduler and key, is no older,
/// has a list that the other one had, and no program is known to publish both.
fn is_copy(slice: &PlacementDecision, original: &SliceHistory) -> bool {
    let (other, key) = (original.last(), names::LABEL_DECISION_KEY);
    let is_kept = slice.scheduler() == other.scheduler() && slice.label(key) == other.label(key);
    // The hub writes all times in UTC to the second, so text order is time order.
    let is_older = slice.metadata.creation_timestamp < other.metadata.creation_timestamp;
    let mut versions = original.versions.iter();
    slice.metadata.namespace != other.metadata.namespace
        && is_kept
        && !is_older
        && publishers_of(slice).is_disjoint(&publishers_of(other))
        && versions.any(|version| version.object.decisions == slice.decisions)
}
