//! What a run reports while it watches.

use std::{path::Path, time::Duration};

use evidence::{Awaited, Evidence};

/// Receives the progress of a run.
pub trait Progress: Send + Sync {
    /// A phase begins, for example `listing profiles`.
    fn phase(&self, what: &str) {
        let _ = what;
    }

    /// The driver takes a step, for example `outage: break of conformance-r4n6d-2`.
    fn step(&self, what: &str) {
        let _ = what;
    }

    /// Reports a problem immediately, for example a change that could not be undone.
    fn warn(&self, what: &str) {
        let _ = what;
    }

    /// The run could not undo all changes. The write-ahead log at `journal` lists the rest.
    fn left_over(&self, journal: &Path) {
        self.warn(&format!(
            "the run could not undo everything: fix what is in the way, then clean up by {}",
            journal.display()
        ));
    }

    /// The first list is complete, here as evidence of a run that reads nothing else. The run watches for `observe` from now
    /// on.
    fn listed(&self, list: Evidence, observe: Duration) {
        let _ = (list, observe);
    }

    /// Called once a second while the run watches: the elapsed and the planned time, and the number of profiles and of
    /// changes.
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        let _ = (elapsed, observe, profiles, writes);
    }

    /// The objects with a violation that was open when the window ended, and that is not decided yet. The run waits until
    /// there are none. It calls this when the window has ended, and repeatedly while it waits.
    fn open(&self, so_far: &Evidence) -> Awaited {
        let _ = so_far;
        Awaited::default()
    }

    /// Called once a second while the run waits: the elapsed time, its limit, and the objects, for example `3 profiles`.
    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        let _ = (elapsed, most, awaited);
    }

    /// Whether to copy the evidence, so that it survives a run that is killed. Called once a second while the run watches,
    /// and a last time when the window is over.
    fn wants_snapshot(&self, is_over: bool) -> bool {
        let _ = is_over;
        false
    }

    /// A copy of the evidence so far, with gaps for what it lacks.
    fn snapshot(&self, so_far: Evidence) {
        let _ = so_far;
    }
}

/// Reports no progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {}
