//! What a record holds.

use evidence::{History, Tracked};

use super::Record;

impl<T: Tracked> Record<T> {
    /// Whether an object was seen that is one of those, or that could not be read.
    pub fn has(&self, is_one: impl Fn(&T) -> bool) -> bool {
        let mut newest = self
            .histories
            .iter()
            .filter_map(|history| history.versions.last());
        !self.unreadable.is_empty() || newest.any(|version| is_one(&version.object))
    }

    /// The number of profiles so far, deleted ones included.
    pub fn len(&self) -> usize {
        self.histories.len()
    }

    /// The profiles in the order in which they were first seen, without the first `count`.
    pub fn after(&self, count: usize) -> &[History<T>] {
        self.histories.get(count..).unwrap_or_default()
    }

    /// The history of the profile with that uid.
    pub fn history(&self, uid: &str) -> Option<&History<T>> {
        self.by_key(uid)
    }

    /// The number of profiles that exist now.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// The indices of histories whose newest version is unreadable.
    pub(super) fn misplaced(&self) -> impl Iterator<Item = usize> {
        let objects = self.unreadable.values().map(|one| &one.unreadable.object);
        objects
            .filter_map(|object| self.places.get(&self.key_of(object)))
            .map(|place| place.index)
    }
}
