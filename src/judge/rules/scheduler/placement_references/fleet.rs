//! The profiles of the hub by name: when each existed, and whether the run would have seen it.

use std::collections::{HashMap, HashSet};

use evidence::{
    Asked, Evidence, Kind, Origin, ProfileHistory,
    api::{ClusterProfile, names},
};

use super::{doubts::Doubt, naming::Key};
use crate::time::{Micros, Timeline, While, absent};

/// The profiles of the hub, in scope or not: a decision may name any.
pub(super) struct Fleet<'e> {
    evidence: &'e Evidence,
    histories: HashMap<Key<'e>, Vec<&'e ProfileHistory>>,
    /// When the profiles of the first list were read, in order.
    listed: Vec<Micros>,
    /// The names of profiles that could not be read.
    unread: HashSet<&'e str>,
    /// Whether the run watched both profiles and slices. The two lists of a single look are not one moment.
    pub(super) is_watched: bool,
}

impl<'e> Fleet<'e> {
    /// Groups the profiles by name.
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        let mut histories: HashMap<Key<'e>, Vec<&ProfileHistory>> =
            HashMap::with_capacity(evidence.profiles.len());
        for history in &evidence.profiles {
            let metadata = &history.last().metadata;
            let key: Key = (&metadata.namespace, &metadata.name);
            histories.entry(key).or_default().push(history);
        }
        let listed = evidence
            .profiles
            .iter()
            .filter(|history| history.origin == Origin::Listed);
        let mut listed: Vec<Micros> = listed
            .map(|history| history.versions[0].received().as_microsecond())
            .collect();
        listed.sort_unstable();
        let unread = evidence.unreadable.iter().map(|unreadable| &unreadable.object);
        let unread = unread.filter(|object| object.kind.is_empty() || object.kind == names::KIND);
        let is_watched = |kind| *evidence.asked(kind) == Asked::Yes;
        Self {
            evidence,
            histories,
            listed,
            unread: unread.map(|object| &*object.name).collect(),
            is_watched: is_watched(Kind::Timeline) && is_watched(Kind::PlacementTimeline),
        }
    }

    /// The profiles that had that name, one after the other.
    pub(super) fn histories(&self, key: Key<'e>) -> &[&'e ProfileHistory] {
        self.histories.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Whether a profile of that name existed from the first list to the end. Gaps do not matter: it was seen on both
    /// sides.
    pub(super) fn is_always_there(&self, key: Key<'e>) -> bool {
        let mut histories = self.histories(key).iter();
        histories.any(|history| history.origin == Origin::Listed && history.deleted.is_none())
    }

    /// Whether the run saw a profile of that name.
    pub(super) fn is_known(&self, key: Key<'e>) -> bool {
        self.histories.contains_key(&key)
    }

    /// Whether a profile of that name exists.
    pub(super) fn exists(&self, key: Key<'e>) -> bool {
        self.histories(key)
            .iter()
            .any(|history| history.deleted.is_none())
    }

    /// Why there may be a profile of that name though the run saw none, if so.
    pub(super) fn doubt(&self, (namespace, name): Key<'e>) -> Option<Doubt> {
        if !self.evidence.header.scope.holds_namespace(namespace) {
            return Some(Doubt::NotListed);
        }
        // The name of an unreadable object may be unknown.
        if self.unread.contains("") || self.unread.contains(name) {
            return Some(Doubt::Unread);
        }
        let is_unlisted = self.evidence.gaps.may_lack(Kind::Inventory, namespace);
        is_unlisted.then_some(Doubt::Incomplete)
    }

    /// When the last profile of that name that was gone by then was deleted.
    pub(super) fn gone_since(&self, key: Key<'e>, at: Micros) -> Option<Micros> {
        let deleted = self.histories(key).iter().filter_map(|history| history.deleted);
        let deleted = deleted.map(|deleted| deleted.as_microsecond());
        deleted.filter(|deleted| *deleted <= at).max()
    }

    /// When there was no profile of that name.
    pub(super) fn absent(&self, key: Key<'e>) -> While {
        let window = self.evidence.header.window;
        let window = window.map(|window| (window.from.as_microsecond(), window.until.as_microsecond()));
        let (from, until) = window.unwrap_or((Micros::MIN, Micros::MAX));
        let read = self.listed.partition_point(|at| *at <= until);
        let read = read.checked_sub(1).map(|last| self.listed[last]);
        absent(
            self.evidence,
            key,
            self.histories(key),
            read.unwrap_or(from).max(from),
        )
    }

    /// When something held of the profiles of that name, of which there were some.
    pub(super) fn while_(&self, key: Key<'e>, holds: impl Fn(&'e ClusterProfile) -> bool) -> While {
        Timeline::of(self.evidence, self.histories(key)).while_(holds)
    }
}
