//! Runs on the lab and on files.

mod chaos;
mod consumers;
mod degraded;
mod hostile_inputs;
mod trust;

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use evidence::Evidence;
use judge::{RuleVerdict, Selection, judge};
use tokio::runtime::{Builder, Runtime};

type Verdicts = BTreeMap<&'static str, RuleVerdict>;

fn judged(evidence: &Evidence) -> Verdicts {
    let verdicts = judge(evidence, &Selection::default()).verdicts.into_iter();
    verdicts.map(|verdict| (verdict.rule.id, verdict)).collect()
}

/// A runtime whose time is simulated.
fn paused_runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let builder = builder.enable_all().start_paused(true);
    builder.build().expect("a runtime")
}

/// The outcome of `work` for each item, on all cores.
fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let do_some = || {
        let places = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let items = places.map_while(|place| Some((place, items.get(place)?)));
        items.map(|(place, item)| (place, work(item))).collect::<Vec<_>>()
    };
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let mut outcomes: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(do_some)).collect();
        let outcomes = threads.into_iter().map(|thread| thread.join());
        outcomes
            .flat_map(|outcomes| outcomes.expect("no panic"))
            .collect()
    });
    outcomes.sort_by_key(|(place, _)| *place);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
