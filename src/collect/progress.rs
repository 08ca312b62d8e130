//! What a run reports while it watches.

use std::{path::Path, time::Duration};

use evidence::{Awaited, Evidence};

/// Receives the progress of a run.
pub trait Progress: Send + Sync {
    /// A phase begins, for example `listing profiles`.
    fn phase(&self, _what: &str) {}

    /// The driver takes a step, for example `outage: break of conformance-r4n6d-2`.
    fn step(&self, _what: &str) {}

    /// Reports a problem immediately, for example a change that could not be undone.
    fn warn(&self, _what: &str) {}

    /// The run could not undo all changes. The write-ahead log at `journal` lists the rest.
    fn left_over(&self, journal: &Path) {
        self.warn(&format!(
            "the run could not undo everything: fix what is in the way, then clean up by {}",
            journal.display()
        ));
    }

    /// The first list is complete, here as evidence of a run that reads nothing else. The run watches for `observe` from now
    /// on.
    fn listed(&self, _list: Evidence, _observe: Duration) {}

    /// Called once a second while the run watches: the elapsed and the planned time, and the number of profiles and of
    /// changes.
    fn tick(&self, _elapsed: Duration, _observe: Duration, _profiles: usize, _writes: u64) {}

    /// The objects with a violation that was open when the window ended, and that is not decided yet. The run waits until
    /// there are none. It calls this when the window has ended, and repeatedly while it waits.
    fn open(&self, _so_far: &Evidence) -> Awaited {
        Awaited::default()
    }

    /// Called once a second while the run waits: the elapsed time, its limit, and the objects, for example `3 profiles`.
    fn settling(&self, _elapsed: Duration, _most: Duration, _awaited: &str) {}

    /// Whether to copy the evidence, so that it survives a run that is killed. Called once a second while the run watches,
    /// and a last time when the window is over.
    fn wants_snapshot(&self, _is_over: bool) -> bool {
        false
    }

    /// A copy of the evidence so far, with gaps for what it lacks.
    fn snapshot(&self, _so_far: Evidence) {}
}

/// Reports no progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {}
