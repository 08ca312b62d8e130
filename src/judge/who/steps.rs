//! Which steps of an object are its producer's, where a rule need not prove it.

use std::collections::BTreeSet;

use evidence::{Evidence, History};

use super::{
    authors::{authors, writers},
    logged::Judged,
    program::may_be_a_producer_s,
    publisher::publishers_of,
};

/// The field managers by which a producer writes some objects: those that were claimed, or those that own what only a
/// producer sets.
pub(crate) struct Publishing<'e> {
    by: BTreeSet<&'e str>,
    /// Whether they were claimed.
    pub(crate) are_claimed: bool,
}

impl<'e> Publishing<'e> {
    pub(crate) fn of<T: Judged>(
        evidence: &'e Evidence,
        histories: impl IntoIterator<Item = &'e History<T>>,
    ) -> Self {
        let claimed = &T::said(&evidence.header.claim).field_managers;
        let versions = histories.into_iter().flat_map(|history| &history.versions);
        let versions = versions.map(|version| &version.object);
        let by = if claimed.is_empty() {
            versions.flat_map(publishers_of).collect()
        } else {
            let seen: BTreeSet<&str> = versions.flat_map(writers).collect();
            let claimed = claimed.iter().map(String::as_str);
            claimed.filter(|name| seen.contains(name)).collect()
        };
        Self {
            by,
            are_claimed: !claimed.is_empty(),
        }
    }

    /// Whether any is known.
    pub(crate) fn are_known(&self) -> bool {
        !self.by.is_empty()
    }

    /// Whether a step counts as the producer's. `publishes` says if it changed what only a producer sets.
    pub(crate) fn wrote<T: Judged>(&self, before: &T, after: &T, publishes: bool) -> bool {
        let by = authors(before, after);
        let is_own = publishes && !self.are_claimed;
        is_own || by.is_empty() || self.by.is_empty() || !by.is_disjoint(&self.by)
    }
}

/// Whether a step may be a producer's: by a program that is neither people's, nor the hub's, nor the suite's, or by nobody.
pub(crate) fn may_be_a_producers<T: Judged>(before: &T, after: &T) -> bool {
    let by = authors(before, after);
    by.is_empty() || by.iter().any(|name| may_be_a_producer_s(name))
}
