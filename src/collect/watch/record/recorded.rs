//! A record as evidence: taken, or copied while it goes on.

use std::collections::HashSet;

use evidence::{Gap, History, Tracked, Unreadable, api::ClusterProfile};
use jiff::Timestamp;

use super::Record;

/// The record as evidence.
pub(crate) struct Recorded<T = ClusterProfile> {
    pub histories: Vec<History<T>>,
    pub gaps: Vec<Gap>,
    pub unreadable: Vec<Unreadable>,
}

impl<T> Default for Recorded<T> {
    fn default() -> Self {
        Self {
            histories: Vec::new(),
            gaps: Vec::new(),
            unreadable: Vec::new(),
        }
    }
}

impl<T: Tracked> Record<T> {
    /// Copies the history at `index`, in the order in which profiles were first seen.
    pub fn copy(&self, index: usize) -> Option<History<T>> {
        self.histories.get(index).cloned()
    }

    /// Completes a copy of all histories. Returns `None` if the record was taken meanwhile.
    pub fn copied(&self, mut histories: Vec<History<T>>) -> Option<Recorded<T>> {
        if self.passes == 0 {
            return None;
        }
        retain_current(&mut histories, &self.misplaced().collect());
        Some(Recorded {
            histories,
            gaps: self.gaps.iter().cloned().chain(self.memory.gaps::<T>()).collect(),
            unreadable: self
                .unreadable
                .values()
                .map(|one| one.unreadable.clone())
                .collect(),
        })
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
        let gaps = self
            .gaps
            .iter()
            .cloned()
            .chain(self.memory.gaps::<T>())
            .chain(unread);
        (histories.cloned().collect(), gaps.collect())
    }

    /// Takes the whole record. A profile whose newest version is unreadable is only among the unreadable: an older
    /// version would be judged in its place.
    pub fn take(&mut self) -> Recorded<T> {
        let mut record = std::mem::take(self);
        let stale: HashSet<usize> = record.misplaced().collect();
        retain_current(&mut record.histories, &stale);
        record.gaps.extend(record.memory.gaps::<T>());
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
