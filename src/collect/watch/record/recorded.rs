//! The record as evidence: taken, or copied while it goes on.

use std::collections::HashSet;

use evidence::{
    Evidence, Gap, History, Kind, ProfileHistory, Requested, Tracked, Unreadable, Window,
    api::{ClusterProfile, PlacementDecision},
};
use jiff::Timestamp;

use super::HistoryRecord;
use crate::watch::timeline::gap;

/// The record as evidence.
pub(crate) struct Recorded<T = ClusterProfile> {
    pub histories: Vec<History<T>>,
    pub gaps: Vec<Gap>,
    pub unreadable: Vec<Unreadable>,
}

impl<T: Tracked> HistoryRecord<T> {
    /// Adds a watch. Returns its number.
    pub fn add_watch(&mut self, now: Timestamp) -> usize {
        self.until.push(now);
        self.until.len() - 1
    }

    /// Notes that a watch knows every change until now.
    pub fn hear(&mut self, watch: usize, now: Timestamp) {
        if let Some(known_until) = self.until.get_mut(watch) {
            *known_until = now;
        }
    }

    /// Until when all watches know every change; none without a watch.
    pub fn known_until(&self) -> Option<Timestamp> {
        self.until.iter().min().copied()
    }

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

    /// The number of profiles that exist now.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// The indices of histories whose newest version is unreadable.
    fn misplaced(&self) -> impl Iterator<Item = usize> {
        let objects = self.unreadable.values().map(|one| &one.unreadable.object);
        objects
            .filter_map(|object| self.places.get(&self.key_of(object)))
            .map(|place| place.index)
    }

    /// Copies the record while it goes on.
    pub fn copy(&self) -> Recorded<T> {
        let mut histories = self.histories.clone();
        retain_current(&mut histories, &self.misplaced().collect());
        let unreadable = self.unreadable.values();
        Recorded {
            histories,
            gaps: self.gaps.clone(),
            unreadable: unreadable.map(|one| one.unreadable.clone()).collect(),
        }
    }

    /// The histories of objects that are wanted by namespace and name, and what was missed: all gaps, and the versions that
    /// cannot be read.
    pub fn so_far(
        &self,
        is_wanted: impl Fn(&str, &str) -> bool,
        now: Timestamp,
    ) -> (Vec<History<T>>, Vec<Gap>) {
        let histories = self.histories.iter().filter(|history| {
            let metadata = history.last().metadata();
            is_wanted(&metadata.namespace, &metadata.name)
        });
        let unread = self.unreadable.values().map(|one| one.gap::<T>(now));
        let gaps = self.gaps.iter().cloned().chain(unread);
        (histories.cloned().collect(), gaps.collect())
    }

    /// Takes the whole record. A profile whose newest version is unreadable is only among the unreadable: an older
    /// version would be judged in its place.
    pub fn take(&mut self) -> Recorded<T> {
        let mut record = std::mem::take(self);
        let stale: HashSet<usize> = record.misplaced().collect();
        retain_current(&mut record.histories, &stale);
        Recorded {
            histories: record.histories,
            gaps: record.gaps,
            unreadable: record
                .unreadable
                .into_values()
                .map(|one| one.unreadable)
                .collect(),
        }
    }
}

/// Drops the histories at the stale indices, unless the profile was deleted.
fn retain_current<T>(histories: &mut Vec<History<T>>, stale: &HashSet<usize>) {
    if stale.is_empty() {
        return;
    }
    let mut index = 0..;
    histories.retain(|history| {
        let is_stale = index.next().is_some_and(|index| stale.contains(&index));
        !is_stale || history.deleted.is_some()
    });
}

/// Whether managedFields were seen. Without profiles, nothing speaks against it.
pub(crate) fn asked_for_writers(profiles: &[ProfileHistory]) -> Requested {
    let has_writers = |history: &ProfileHistory| history.last().metadata.writers.is_some();
    if profiles.is_empty() || profiles.iter().any(has_writers) {
        Requested::Yes
    } else {
        Requested::No("the hub showed no managedFields".into())
    }
}

/// Adds what the watches have brought to the evidence; slices with the reason why not all of them were listed.
pub(crate) fn add_watched(
    evidence: &mut Evidence,
    profiles: Recorded,
    slices: Option<(Recorded<PlacementDecision>, Option<&str>)>,
    window: Window,
) {
    evidence.header.window = Some(window);
    let writers = asked_for_writers(&profiles.histories);
    evidence.header.requested.insert(Kind::Writers, writers);
    evidence.profiles = profiles.histories;
    evidence.unreadable.extend(profiles.unreadable);
    evidence.gaps.extend(profiles.gaps);
    let Some((recorded, unlisted)) = slices else {
        return;
    };
    evidence.slices = recorded.histories;
    evidence.unreadable.extend(recorded.unreadable);
    evidence.gaps.extend(recorded.gaps);
    let Some(why) = unlisted else {
        return;
    };
    let count = evidence.slices.len();
    let reason = format!("not all placement decisions were listed, but only {count}: {why}");
    evidence.gaps.push(Gap::of(Kind::PlacementDecisions, reason));
    if *evidence.requested(Kind::PlacementTimeline) == Requested::Yes {
        let reason = format!("placement decisions were not watched, as their list did not end: {why}");
        evidence
            .gaps
            .push(gap::<PlacementDecision>(window.from, window.until, reason));
    }
}
