//! Who hears of the progress of a run.

use std::{path::Path, time::Duration};

use evidence::{Awaited, Evidence};

use super::snapshot::Snapshot;

/// Gets the progress of a run.
pub trait Progress: Send + Sync {
    /// Something new begins, such as `listing profiles`.
    fn phase(&self, what: &str) {
        let _ = what;
    }

    /// The driver takes a step, such as `outage: break of conformance-r4n6d-2`.
    fn step(&self, what: &str) {
        let _ = what;
    }

    /// Something went wrong that a person should know of at once, such as what could not be undone.
    fn warn(&self, what: &str) {
        let _ = what;
    }

    /// The run could not undo everything: what is left stands in the write-ahead log at `journal`.
    fn left_over(&self, journal: &Path) {
        self.warn(&format!(
            "the run could not undo everything: fix what is in the way, then clean up by {}",
            journal.display()
        ));
    }

    /// The first list is complete. The run watches for `observe` from now on.
    fn listed(&self, list: Snapshot, observe: Duration) {
        let _ = (list, observe);
    }

    /// Once a second while the hub is watched: how long it was and is to be, how many profiles there are, how many
    /// changes were seen.
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        let _ = (elapsed, observe, profiles, writes);
    }

    /// Which objects have a fault that was open when the window ended, and that is not yet decided. The run looks on until
    /// there are none: it is asked when the window has ended, and then again and again with what was seen since.
    fn open(&self, so_far: &Evidence) -> Awaited {
        let _ = so_far;
        Awaited::default()
    }

    /// Once a second while the run looks on: how long it has and will at most, and what for, such as `3 profiles`.
    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        let _ = (elapsed, most, awaited);
    }

    /// Whether somebody wants a copy of the evidence so far, which survives a run that is killed. Asked once a second while
    /// the hub is watched; then once more when the window is over, after which no other copy follows.
    fn wants_snapshot(&self, is_over: bool) -> bool {
        let _ = is_over;
        false
    }

    /// The evidence so far.
    fn snapshot(&self, so_far: Snapshot) {
        let _ = so_far;
    }
}

/// Reports no progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {}
