//! The names of writers, for reports that show the history of an object.

use std::collections::BTreeSet;

use evidence::{Evidence, History, ProfileHistory, SliceHistory, Tracked, api::Role};

use super::{AuthoredChange, Authors};
use crate::time::{Edge, Gaps, LATE};

/// The users or field managers that wrote objects. No name means that the evidence does not show it.
pub struct WriterNames<'e> {
    evidence: &'e Evidence,
    profiles: Authors<'e>,
    slices: Authors<'e>,
}

impl<'e> WriterNames<'e> {
    /// Reads the evidence.
    pub fn of(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            profiles: Authors::of(evidence, Role::Manager),
            slices: Authors::of(evidence, Role::Scheduler),
        }
    }

    /// The writers of the version of a profile at that place; the first version is its creation.
    pub fn of_profile(&self, history: &'e ProfileHistory, place: usize) -> BTreeSet<&'e str> {
        self.of_version(&self.profiles, history, place)
    }

    /// The writers of the version of a slice at that place.
    pub fn of_slice(&self, history: &'e SliceHistory, place: usize) -> BTreeSet<&'e str> {
        self.of_version(&self.slices, history, place)
    }

    /// The clients that deleted a profile.
    pub fn of_profile_deletion(&self, history: &'e ProfileHistory) -> BTreeSet<&'e str> {
        of_deletion(&self.profiles, history)
    }

    /// The clients that deleted a slice.
    pub fn of_slice_deletion(&self, history: &'e SliceHistory) -> BTreeSet<&'e str> {
        of_deletion(&self.slices, history)
    }

    fn of_version<T: Tracked>(
        &self,
        authors: &Authors<'e>,
        history: &'e History<T>,
        place: usize,
    ) -> BTreeSet<&'e str> {
        let Some(after) = history.versions.get(place) else {
            return BTreeSet::new();
        };
        let Some(before) = place.checked_sub(1).map(|before| &history.versions[before]) else {
            return authors.of_creation(history).names;
        };
        let (from, until) = (
            before.received().as_microsecond(),
            after.received().as_microsecond(),
        );
        let metadata = after.object.metadata();
        let gaps = Gaps::of::<T>(self.evidence, &metadata.namespace, &metadata.name);
        let change = AuthoredChange {
            before: Some(before),
            after,
            at: Edge::between(until.saturating_sub(LATE), until),
            is_over_gap: !gaps.ending_in(from, until).is_empty(),
            field: "",
        };
        authors.of_change(&change).names
    }
}

fn of_deletion<'e, T: Tracked>(authors: &Authors<'e>, history: &'e History<T>) -> BTreeSet<&'e str> {
    let Some((_, seen)) = history.went() else {
        return BTreeSet::new();
    };
    let seen = seen.as_microsecond();
    authors
        .of_deletion(history, Edge::between(seen.saturating_sub(LATE), seen))
        .names
}
