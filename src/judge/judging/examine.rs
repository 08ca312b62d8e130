//! Examines rules, on all cores if there is much evidence.

use std::{
    iter,
    num::NonZero,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use evidence::{Claim, Evidence};

use crate::{
    engine::{Hub, WholeHub},
    rules::{Findings, Rule, findings_of_team},
};

/// The fewest versions and requests that several threads examine. Fewer take a few milliseconds.
pub(super) const MANY: usize = 100;

/// What a rule found.
pub(super) struct Examined {
    pub(super) findings: Findings,
    /// Whether the findings hold in every edition.
    pub(super) is_of_any_edition: bool,
}

/// Examines rules by the editions of a claim. The results are in the order of the rules.
pub(super) fn examine<'e>(rules: &[&Rule], hub: &Arc<WholeHub<'e>>, claim: &'e Claim) -> Vec<Examined> {
    let threads = threads(hub.evidence);
    let teams = teams(rules, threads);
    let examined = in_turns(&teams, threads, |places| {
        let hubs: Vec<Hub> = places.iter().map(|_| Hub::in_claim(hub, claim)).collect();
        let team: Vec<(&Rule, &Hub)> = places.iter().map(|place| rules[*place]).zip(&hubs).collect();
        let findings = findings_of_team(&team).into_iter();
        let examined = findings.zip(&hubs).map(|(findings, hub)| Examined {
            findings,
            is_of_any_edition: !hub.reads_edition(),
        });
        places.iter().copied().zip(examined).collect::<Vec<_>>()
    });
    let mut examined: Vec<(usize, Examined)> = examined.into_iter().flatten().collect();
    examined.sort_unstable_by_key(|(place, _)| *place);
    examined.into_iter().map(|(_, examined)| examined).collect()
}

/// Divides rules into so many teams, each a list of places. A rule that judges several objects at a time is alone.
fn teams(rules: &[&Rule], count: usize) -> Vec<Vec<usize>> {
    let places = 0..rules.len();
    let (separate, alone): (Vec<usize>, Vec<usize>) =
        places.partition(|place| rules[*place].on_objects().is_some());
    let mut teams = vec![Vec::new(); count];
    for (turn, place) in separate.into_iter().enumerate() {
        teams[turn % count].push(place);
    }
    teams.retain(|team| !team.is_empty());
    teams.extend(alone.into_iter().map(|place| vec![place]));
    teams
}

/// The results of some work for each item, of which each thread takes the next one in turn. In no order.
fn in_turns<I: Sync, R: Send>(items: &[I], threads: usize, work: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take_turns = || -> Vec<R> {
        let turns = iter::from_fn(|| items.get(next.fetch_add(1, Ordering::Relaxed)));
        turns.map(&work).collect()
    };
    thread::scope(|scope| {
        // This thread works, too, in case no other thread can be started.
        let start = |_| thread::Builder::new().spawn_scoped(scope, take_turns).ok();
        let workers: Vec<_> = (1..threads).filter_map(start).collect();
        let mut results = take_turns();
        for worker in workers {
            results.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    })
}

/// How many threads examine the evidence.
fn threads(evidence: &Evidence) -> usize {
    let profiles = evidence.profiles.iter().map(|history| history.versions.len());
    let slices = evidence.slices.iter().map(|history| history.versions.len());
    let requests = evidence
        .requests
        .as_ref()
        .map_or(0, |requests| requests.events.len());
    if profiles.chain(slices).sum::<usize>() + requests < MANY {
        return 1;
    }
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn each_item_has_one_result_and_a_panic_reaches_the_caller() {
        let items: Vec<usize> = (0..50).collect();
        let mut doubled = in_turns(&items, 3, |item| item * 2);
        doubled.sort_unstable();
        assert!(doubled.into_iter().eq((0..50).map(|item| item * 2)));
        let panics = || in_turns(&items, 3, |item| assert_ne!(*item, 7, "item 7"));
        let panic = catch_unwind(AssertUnwindSafe(panics)).expect_err("a panic");
        assert!(panic.downcast_ref::<String>().expect("words").contains("item 7"));
    }
}
