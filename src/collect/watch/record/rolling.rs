//! A record that never ends: forgets what a window leaves behind, and tells what has changed.

use std::{collections::BTreeSet, mem};

use evidence::{History, Origin, Tracked};
use jiff::Timestamp;

use super::{Lost, Record};
use crate::connect::failure::Failure;

/// What is known of one watch.
pub(crate) struct WatchState<'a> {
    /// Until when it knows every change.
    pub heard: Timestamp,
    /// Why it is interrupted, if it is.
    pub lost: Option<&'a Lost>,
}

impl<T: Tracked> Record<T> {
    /// Notes that a watch is interrupted.
    pub fn lose(&mut self, watch: usize, failure: &Failure) {
        if let Some(lost) = self.lost.get_mut(watch) {
            *lost = Some(Lost {
                why: failure.to_string(),
                reconnects: matches!(failure.code(), 401 | 404),
            });
        }
    }

    /// Notes that a watch goes on.
    pub fn find(&mut self, watch: usize) {
        if let Some(lost) = self.lost.get_mut(watch) {
            *lost = None;
        }
    }

    /// The watches that are followed.
    pub fn watches(&self) -> impl Iterator<Item = WatchState<'_>> {
        let states = self.heard.iter().zip(&self.lost);
        states.filter_map(|(heard, lost)| {
            Some(WatchState {
                heard: (*heard)?,
                lost: lost.as_ref(),
            })
        })
    }

    /// Begins to note which histories change.
    pub fn note_changes(&mut self) {
        self.changed.get_or_insert_default();
    }

    /// The indices of the histories that have changed since the last time.
    pub fn take_changes(&mut self) -> BTreeSet<usize> {
        self.changed.as_mut().map(mem::take).unwrap_or_default()
    }

    /// True if histories have changed since the last time.
    pub fn has_changes(&self) -> bool {
        self.changed.as_ref().is_some_and(|changed| !changed.is_empty())
    }

    /// How often an object became unreadable, or was so no longer.
    pub fn unreadable_changes(&self) -> u64 {
        self.unreadable_changes
    }

    /// How many versions it holds.
    pub fn versions(&self) -> usize {
        self.histories.iter().map(|history| history.versions.len()).sum()
    }

    /// Forgets what a run that had begun at `from` would not have seen: earlier versions, but for the one that was current
    /// then, profiles that were gone by then, and earlier gaps.
    pub fn forget_before(&mut self, from: Timestamp) {
        let before = self.versions();
        for history in &mut self.histories {
            fold(history, from);
        }
        self.drop_deleted(from);
        self.memory.give(before - self.versions());
        self.gaps.retain_mut(|gap| {
            gap.from = gap.from.map(|at| at.max(from));
            gap.until.is_none_or(|until| until > from)
        });
        for one in self.unreadable.values_mut() {
            one.since = one.since.max(from);
        }
    }

    /// Drops the histories that ended before, and gives the others their new places.
    fn drop_deleted(&mut self, from: Timestamp) {
        let is_over = |history: &History<T>| history.deleted.is_some_and(|at| at <= from);
        if !self.histories.iter().any(is_over) {
            return;
        }
        let mut next = 0;
        let places: Vec<Option<usize>> = self
            .histories
            .iter()
            .map(|history| {
                (!is_over(history)).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        self.histories.retain(|history| !is_over(history));
        self.places.retain(|_, place| {
            let found = places[place.index];
            place.index = found.unwrap_or_default();
            found.is_some()
        });
        if let Some(changed) = &mut self.changed {
            *changed = changed.iter().filter_map(|index| places[*index]).collect();
        }
    }
}

/// Merges the versions until `from` into the one that was current then.
fn fold<T>(history: &mut History<T>, from: Timestamp) {
    let earlier = history
        .versions
        .partition_point(|version| version.received() <= from);
    if earlier == 0 {
        return;
    }
    history.versions.drain(..earlier - 1);
    history.versions[0].at = Some(from);
    history.origin = Origin::Listed;
    // A burst of an hour ago must not hold its memory for ever.
    if history.versions.capacity() > 4 * history.versions.len() {
        history.versions.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use evidence::{Gap, Kind, api::ClusterProfile};
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn json(name: &str, resource_version: i64) -> Vec<u8> {
        let metadata = json!({"name": name, "uid": name, "resourceVersion": resource_version.to_string()});
        json!({"metadata": metadata, "status": {"version": {"kubernetes": format!("v{resource_version}")}}})
            .to_string()
            .into_bytes()
    }

    /// The origin of a history, and its versions' times and resourceVersions.
    fn story(record: &Record, name: &str) -> Option<(Origin, Vec<(i64, String)>)> {
        let history = record.history(name)?;
        let versions = history.versions.iter();
        let told = versions.map(|version| {
            let resource_version = version.object.metadata.resource_version.clone();
            (version.received().as_second(), resource_version)
        });
        Some((history.origin, told.collect()))
    }

    #[test]
    fn a_window_forgets_what_a_run_that_begins_with_it_would_not_see() {
        let mut record = Record::<ClusterProfile>::default();
        record.note_changes();
        for (second, name) in [(10, "a"), (20, "gone"), (30, "a"), (40, "b"), (70, "a")] {
            record.changed(&json(name, second), Origin::Created, at(second));
        }
        record.deleted(&json("gone", 45), at(45));
        for (from, until) in [(1, 5), (40, 60), (65, 66)] {
            record.gaps.push(Gap {
                from: Some(at(from)),
                until: Some(at(until)),
                ..Gap::of(Kind::Timeline, "lost")
            });
        }
        record.take_changes();
        record.changed(&json("b", 80), Origin::Created, at(80));
        record.forget_before(at(50));
        let version = |second: i64, number: i64| (second, number.to_string());
        assert_eq!(
            story(&record, "a"),
            Some((Origin::Listed, vec![version(50, 30), version(70, 70)]))
        );
        assert_eq!(
            story(&record, "b"),
            Some((Origin::Listed, vec![version(50, 40), version(80, 80)]))
        );
        assert_eq!(story(&record, "gone"), None);
        let gaps: Vec<_> = record.gaps.iter().map(|gap| (gap.from, gap.until)).collect();
        assert_eq!(gaps, [(Some(at(50)), Some(at(60))), (Some(at(65)), Some(at(66)))]);
        assert_eq!((record.versions(), record.alive()), (4, 2));
        // The indices follow the histories.
        assert_eq!(record.take_changes(), BTreeSet::from([1]));
        record.changed(&json("b", 90), Origin::Created, at(90));
        assert_eq!(record.take_changes(), BTreeSet::from([1]));
    }

    #[test]
    fn a_profile_that_came_within_the_window_was_created_still() {
        let mut record = Record::<ClusterProfile>::default();
        record.changed(&json("a", 10), Origin::Created, at(10));
        record.forget_before(at(9));
        assert_eq!(
            story(&record, "a"),
            Some((Origin::Created, vec![(10, "10".to_owned())]))
        );
    }

    #[test]
    fn versions_that_are_forgotten_give_their_room_back() {
        let mut record = Record::<ClusterProfile> {
            memory: crate::watch::memory_budget::MemoryBudget::of(3),
            ..Record::default()
        };
        for second in 1..=30 {
            record.changed(&json("a", second), Origin::Created, at(second));
            record.forget_before(at(second));
        }
        assert_eq!(record.versions(), 1);
        assert!(!record.memory.was_full());
    }
}
