//! A copy of a record that is brought up to date, so that what is judged is not what the watch writes to.

use std::{collections::HashMap, sync::Arc};

use evidence::{Gap, History, Tracked, Unreadable};
use jiff::Timestamp;
use parking_lot::MutexGuard;

use crate::watch::{
    record::Record,
    timeline::{self, BRIEF, SILENCE, gap},
};

/// How many versions are copied before a watch that waits for the record gets its turn.
const TURN: usize = 1_000;

/// A record's copy.
pub(super) struct Mirror<T: Tracked> {
    record: timeline::Shared<T>,
    /// Where each history of the record is in the copy; none for one that is left out.
    places: HashMap<usize, usize>,
    /// How many gaps of the record were counted.
    counted: usize,
    /// How many seconds those took.
    gap_seconds: f64,
    unreadable_changes: u64,
    /// True once it was copied whole.
    is_begun: bool,
}

/// What a record has beside its histories.
#[derive(Default)]
pub(super) struct Beside {
    pub gaps: Vec<Gap>,
    pub unreadable: Vec<Unreadable>,
}

impl<T: Tracked> Mirror<T> {
    pub fn new(record: timeline::Shared<T>) -> Self {
        record.lock().note_changes();
        Self {
            record,
            places: HashMap::new(),
            counted: 0,
            gap_seconds: 0.0,
            unreadable_changes: 0,
            is_begun: false,
        }
    }

    pub fn record(&self) -> &timeline::Shared<T> {
        &self.record
    }

    /// True if the record has something that the copy lacks.
    pub fn is_behind(&self) -> bool {
        let record = self.record.lock();
        record.has_changes()
            || record.unreadable_changes() != self.unreadable_changes
            || record.gaps.len() != self.counted
    }

    /// Brings the copy up to date. With `forget`, the record first forgets what was before, and all is copied. Returns whether
    /// everything was copied anew.
    pub fn refresh(&mut self, copy: &mut Vec<History<T>>, forget: Option<Timestamp>) -> bool {
        let shared = Arc::clone(&self.record);
        let mut record = shared.lock();
        self.count(&record.gaps);
        if let Some(from) = forget {
            record.forget_before(from);
            self.counted = record.gaps.len();
        }
        let whole =
            forget.is_some() || !self.is_begun || record.unreadable_changes() != self.unreadable_changes;
        self.unreadable_changes = record.unreadable_changes();
        let mut changed = record.take_changes();
        if whole {
            self.is_begun = true;
            self.copy_all(&mut record, copy);
            changed = record.take_changes();
            // What is left out now stays so until the next refresh.
            changed.retain(|index| self.places.contains_key(index));
        }
        for index in changed {
            self.copy_changed(&record, index, copy);
        }
        whole
    }

    /// Copies the record anew. A watch that waits for the record meanwhile gets its turns: what it brings then is a change.
    fn copy_all(&mut self, record: &mut MutexGuard<'_, Record<T>>, copy: &mut Vec<History<T>>) {
        let left_out = record.left_out();
        self.places.clear();
        copy.clear();
        let mut versions = 0;
        let mut index = 0;
        while let Some(history) = record.after(index).first() {
            if history.deleted.is_some() || !left_out.contains(&index) {
                self.places.insert(index, copy.len());
                copy.push(history.clone());
            }
            versions += history.versions.len();
            index += 1;
            if versions > TURN {
                versions = 0;
                MutexGuard::bump(record);
            }
        }
    }

    /// Adds what a history has that its copy lacks.
    fn copy_changed(&mut self, record: &Record<T>, index: usize, copy: &mut Vec<History<T>>) {
        let Some(history) = record.after(index).first() else {
            return;
        };
        match self.places.get(&index).and_then(|place| copy.get_mut(*place)) {
            Some(known) => {
                // Between two whole copies, versions are only added.
                let new = history.versions.get(known.versions.len()..);
                known.versions.extend_from_slice(new.unwrap_or_default());
                known.deleted = history.deleted;
            }
            None => {
                self.places.insert(index, copy.len());
                copy.push(history.clone());
            }
        }
    }

    /// Adds up the gaps that were not counted yet.
    fn count(&mut self, gaps: &[Gap]) {
        for gap in gaps.get(self.counted..).unwrap_or_default() {
            if let (Some(from), Some(until), None) = (gap.from, gap.until, &gap.object) {
                self.gap_seconds += until.duration_since(from).as_secs_f64().max(0.0);
            }
        }
        self.counted = gaps.len();
    }

    /// The gaps and the unreadable objects, with a gap for each watch that is interrupted now.
    pub fn beside(&self, now: Timestamp) -> Beside {
        let record = self.record.lock();
        Beside {
            gaps: record
                .gaps
                .iter()
                .cloned()
                .chain(record.memory.gaps::<T>())
                .chain(interruptions(&record, now))
                .collect(),
            unreadable: record.unreadable().cloned().collect(),
        }
    }

    /// For how many seconds the watch was interrupted in all, until now.
    pub fn gap_seconds(&self, now: Timestamp) -> f64 {
        let record = self.record.lock();
        let present = interruptions::<T>(&record, now).filter_map(|gap| gap.from);
        let longest = present.map(|from| now.duration_since(from).as_secs_f64());
        self.gap_seconds + longest.fold(0.0, f64::max)
    }
}

/// A gap for each watch that is interrupted now for longer than a rule would not notice.
fn interruptions<T: Tracked>(record: &Record<T>, now: Timestamp) -> impl Iterator<Item = Gap> + '_ {
    record.watches().filter_map(move |watch| {
        let quiet = now.duration_since(watch.heard);
        let reason = match watch.lost {
            Some(lost) if quiet > BRIEF => lost.why.clone(),
            None if quiet > SILENCE.try_into().unwrap_or(BRIEF) => "nothing came from it".to_owned(),
            _ => return None,
        };
        Some(gap::<T>(
            watch.heard,
            now,
            format!("the watch is interrupted: {reason}"),
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use evidence::{Origin, ProfileHistory, api::ClusterProfile};
    use serde_json::json;

    use super::*;

    /// What a record and its copy have of each profile: its name, how many versions, and when it was deleted.
    fn story(histories: &[ProfileHistory]) -> Vec<(String, usize, Option<Timestamp>)> {
        let told = histories.iter().map(|history| {
            let name = history.last().metadata.name.to_string();
            (name, history.versions.len(), history.deleted)
        });
        told.collect()
    }

    /// If this fails, what a watch brings while a large record is copied is lost, or counted twice.
    #[test]
    fn what_comes_while_all_is_copied_is_neither_lost_nor_doubled() {
        let record = timeline::Shared::<ClusterProfile>::default();
        let put = |name: usize, version: usize| {
            let name = format!("p{name}");
            let metadata = json!({"name": name, "uid": name, "resourceVersion": version.to_string()});
            let status = json!({"version": {"kubernetes": format!("v{version}")}});
            let json = json!({"metadata": metadata, "status": status}).to_string();
            let at = Timestamp::from_second(version as i64).expect("a time");
            record.lock().changed(json.as_bytes(), Origin::Created, at);
        };
        let mut mirror = Mirror::new(Arc::clone(&record));
        let profiles = 3 * TURN;
        (0..profiles).for_each(|name| put(name, 1));
        let mut copy = Vec::new();
        thread::scope(|scope| {
            let watch = scope.spawn(|| {
                for version in 2..30 {
                    for name in (0..profiles).step_by(151) {
                        put(name, version);
                    }
                    put(profiles + version, version);
                }
            });
            while !watch.is_finished() {
                mirror.refresh(&mut copy, Some(Timestamp::UNIX_EPOCH));
                for history in &copy {
                    let times: Vec<Timestamp> =
                        history.versions.iter().map(evidence::Version::received).collect();
                    assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
                }
            }
        });
        mirror.refresh(&mut copy, None);
        assert_eq!(story(&copy), story(record.lock().after(0)));
        assert!(!mirror.is_behind());
        assert_eq!(copy.len(), profiles + 28);
    }
}
