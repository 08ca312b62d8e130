//! Tells reports who wrote: the names that the evidence has for a creation, a change or a deletion.

use std::collections::BTreeSet;

use evidence::{
    Evidence, History, ProfileHistory, SliceHistory,
    api::{ClusterProfile, PlacementDecision},
};

use super::{hand::Who, logged::Judged};

/// Tells who created, changed and deleted objects: the users of the audit log, or else the field managers. No name means
/// that the evidence does not tell, as over a gap of the watch.
pub struct Authors<'e> {
    profiles: Who<'e, ClusterProfile>,
    slices: Who<'e, PlacementDecision>,
}

impl<'e> Authors<'e> {
    /// Reads that evidence when it is asked.
    pub fn of(evidence: &'e Evidence) -> Self {
        Self {
            profiles: Who::of(evidence),
            slices: Who::of(evidence),
        }
    }

    /// Who wrote the version of a profile at that place; the first one's author created it.
    pub fn of_profile(&self, history: &'e ProfileHistory, place: usize) -> BTreeSet<&'e str> {
        wrote(&self.profiles, history, place)
    }

    /// The same of a slice of a decision.
    pub fn of_slice(&self, history: &'e SliceHistory, place: usize) -> BTreeSet<&'e str> {
        wrote(&self.slices, history, place)
    }

    /// Who deleted a profile.
    pub fn of_profile_deletion(&self, history: &'e ProfileHistory) -> BTreeSet<&'e str> {
        deleted(&self.profiles, history)
    }

    /// The same of a slice of a decision.
    pub fn of_slice_deletion(&self, history: &'e SliceHistory) -> BTreeSet<&'e str> {
        deleted(&self.slices, history)
    }
}

fn wrote<'e, T: Judged>(who: &Who<'e, T>, history: &'e History<T>, place: usize) -> BTreeSet<&'e str> {
    let Some(after) = history.versions.get(place) else {
        return BTreeSet::new();
    };
    match history.before(place) {
        Some(before) => who.names(before, (&after.object, after.received())),
        None => who.created(history).by,
    }
}

fn deleted<'e, T: Judged>(who: &Who<'e, T>, history: &'e History<T>) -> BTreeSet<&'e str> {
    let gone = history.went();
    gone.map(|(object, seen)| who.deletion(object, seen).by)
        .unwrap_or_default()
}
