//! Slices that another program may have copied from a scheduler's.

use std::collections::HashMap;

use evidence::{
    Evidence, ObjectRef, SliceHistory,
    api::{PlacementDecision, names},
};

use super::actors::publishers_of;

/// The slices of all namespaces by what a copy keeps.
///
/// Replicators and consumers copy slices into the namespaces of tenants, with all that the scheduler wrote. What is wrong
/// with such a copy alone is not the scheduler's fault: a reference without a namespace is to another profile there.
pub(in crate::rules) struct Copies<'e>(HashMap<Kept<'e>, Vec<&'e SliceHistory>>);

/// The name, the scheduler and the key of a slice.
type Kept<'e> = (&'e str, &'e str, Option<&'e str>);

impl<'e> Copies<'e> {
    /// Those of all slices, judged or not.
    pub(in crate::rules) fn of(evidence: &'e Evidence) -> Self {
        let mut alike: HashMap<Kept, Vec<&SliceHistory>> = HashMap::new();
        for history in &evidence.slices {
            alike.entry(kept(history.last())).or_default().push(history);
        }
        Self(alike)
    }

    /// Whether the slices of that name may all be copies.
    pub(in crate::rules) fn hold(&self, object: &ObjectRef) -> bool {
        let named = |history: &&SliceHistory| {
            let metadata = &history.last().metadata;
            *metadata.name == *object.name && *metadata.namespace == *object.namespace
        };
        let all = self.0.iter().filter(|((name, ..), _)| *name == object.name);
        let mut own =
            all.flat_map(|(_, alike)| alike.iter().filter(|one| named(one)).map(move |one| (one, alike)));
        let mut is_any = false;
        own.all(|(own, alike)| {
            is_any = true;
            alike.iter().any(|other| is_copy(own.last(), other))
        }) && is_any
    }
}

fn kept(slice: &PlacementDecision) -> Kept<'_> {
    let key = slice.label(names::LABEL_DECISION_KEY);
    (&slice.metadata.name, slice.scheduler(), key)
}

/// Whether a slice may be a copy of one in another namespace: it is no older, has a list that the other one had, and no
/// program is known to publish both.
fn is_copy(slice: &PlacementDecision, original: &SliceHistory) -> bool {
    let (own, other) = (&slice.metadata, &original.last().metadata);
    // The hub writes all times in UTC to the second, so text order is time order.
    let is_older = own.creation_timestamp < other.creation_timestamp;
    let mut versions = original.versions.iter();
    own.namespace != other.namespace
        && !is_older
        && publishers_of(slice).is_disjoint(&publishers_of(original.last()))
        && versions.any(|version| version.object.decisions == slice.decisions)
}
