//! A copy of a record that is brought up to date, so that what is judged is not what the watch writes to.

use std::{collections::HashMap, sync::Arc};

use evidence::{Gap, History, ObjectKey, Tracked, Unreadable};
use jiff::Timestamp;

use crate::timeline::{self, BRIEF, SILENCE, gap};

/// A record's copy.
pub(super) struct Mirror<T: Tracked> {
    record: timeline::Shared<T>,
    /// Where each history of the record is in the copy; none for one that is left out.
    places: HashMap<usize, usize>,
    /// How many gaps of the record were counted.
    counted: usize,
    /// How many seconds those took.
    gap_seconds: f64,
    misfits: u64,
    /// True once it was copied whole.
    is_begun: bool,
}

/// What a refresh brought.
pub(super) struct Refreshed {
    /// The names of the objects that changed, came or went.
    pub changed: Vec<ObjectKey>,
    /// True if everything was copied anew.
    pub whole: bool,
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
            misfits: 0,
            is_begun: false,
        }
    }

    pub fn record(&self) -> &timeline::Shared<T> {
        &self.record
    }

    /// True if the record has something that the copy lacks.
    pub fn is_behind(&self) -> bool {
        let record = self.record.lock();
        record.has_changes() || record.misfits() != self.misfits || record.gaps.len() != self.counted
    }

    /// Brings the copy up to date. With `forget`, the record first forgets what was before, and all is copied.
    pub fn refresh(&mut self, copy: &mut Vec<History<T>>, forget: Option<Timestamp>) -> Refreshed {
        let shared = Arc::clone(&self.record);
        let mut record = shared.lock();
        self.count(&record.gaps);
        if let Some(from) = forget {
            record.forget_before(from);
            self.counted = record.gaps.len();
        }
        let changed = record.take_changes();
        let whole = forget.is_some() || !self.is_begun || record.misfits() != self.misfits;
        self.misfits = record.misfits();
        let names = |index: &usize| {
            record
                .after(*index)
                .first()
                .map(|history| ObjectKey::of(history.last()))
        };
        let names = changed.iter().filter_map(names).collect();
        if whole {
            self.is_begun = true;
            let left_out = record.left_out();
            self.places.clear();
            copy.clear();
            for (index, history) in record.after(0).iter().enumerate() {
                if history.deleted.is_some() || !left_out.contains(&index) {
                    self.places.insert(index, copy.len());
                    copy.push(history.clone());
                }
            }
        } else {
            for index in changed {
                let Some(history) = record.after(index).first() else {
                    continue;
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
        }
        Refreshed {
            changed: names,
            whole,
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
                .chain(record.room.gaps::<T>())
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
fn interruptions<T: Tracked>(
    record: &crate::record::Record<T>,
    now: Timestamp,
) -> impl Iterator<Item = Gap> + '_ {
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
