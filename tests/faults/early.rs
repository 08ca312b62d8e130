//! The violations that a run finds while it goes on: no later evidence takes one back.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use collect::{Progress, Snapshot};
use judge::{Selection, Verdict, judge_so_far};

/// One look for so many seconds of the run.
const EVERY: u64 = 30;

/// Judges what was seen so far, again and again.
#[derive(Default)]
pub struct Early {
    seconds: AtomicU64,
    broken: Mutex<BTreeSet<&'static str>>,
}

impl Early {
    /// The rules that were broken at one look or another.
    pub fn broken(self) -> BTreeSet<&'static str> {
        self.broken.into_inner().expect("no look panics")
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.broken.lock().expect("no look panics")
    }
}

impl Progress for Early {
    fn wants_glance(&self) -> bool {
        self.seconds.fetch_add(1, Ordering::Relaxed).is_multiple_of(EVERY)
    }

    fn glance(&self, so_far: Snapshot) {
        let evidence = so_far.take().expect("the watch goes on");
        let verdicts = judge_so_far(&evidence, &Selection::default()).verdicts;
        let broken = verdicts.iter().filter(|each| each.verdict == Verdict::Fail);
        self.lock().extend(broken.map(|each| each.rule.id));
    }
}
