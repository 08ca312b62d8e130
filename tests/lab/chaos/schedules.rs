//! Random schedules of faults, from a seed.
//!
//! A schedule that fails is made smaller, and printed with its seed. `FIRE_SEEDS` says how many schedules are tried, and
//! `FIRE_SEED` where they begin.

use std::time::Duration;

use proptest::{
    collection::vec,
    prelude::{Just, Strategy, prop_oneof},
    sample::select,
    test_runner::{TestCaseError, TestError},
};

use super::{
    check,
    fault::{Act, Fault, On},
    honest,
    rows::{BOOKMARK, KINDS, OTHER_PAGE, SAME_PAGE},
    world::{Manager, Outcome, run},
};
use crate::seeds;

/// How many schedules `cargo test` tries. `just everything` tries more.
const SCHEDULES: u32 = 50;
const OBSERVE: u64 = 60;

/// Texts for any request.
const SAYINGS: [&str; 9] = [
    BOOKMARK,
    SAME_PAGE,
    OTHER_PAGE,
    "",
    "null",
    "{}",
    "[1]",
    "{\"items\":[]}",
    "\u{0}",
];

fn act() -> impl Strategy<Value = Act> {
    let codes = select(vec![400, 403, 404, 409, 410, 422, 429, 500, 503, 504]);
    let after = select(vec![None, Some(0), Some(1), Some(7), Some(3600)]);
    prop_oneof![
        (codes, after).prop_map(|(code, after)| Act::Code(code, after)),
        Just(Act::Hangs),
        Just(Act::Resets),
        (1_u64..40).prop_map(|seconds| Act::Delays(Duration::from_secs(seconds))),
        (0_usize..2000).prop_map(Act::Cuts),
        (0_usize..2000).prop_map(Act::Stops),
        Just(Act::Drips),
        select(vec!["\n", BOOKMARK]).prop_map(|text| Act::Repeats("", text)),
        (1_usize..6).prop_map(Act::Lines),
        Just(Act::Twice),
        select(SAYINGS.to_vec()).prop_map(|text| Act::Says(200, text)),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    let requests = [On::Everything, On::Resume, On::Profiles, On::DryRuns]
        .into_iter()
        .chain(KINDS);
    let requests = select(requests.collect::<Vec<_>>());
    let times = select(vec![1, 2, 5, u16::MAX]);
    (requests, act(), 0_u16..60, 1_u16..4, times).prop_map(|(on, act, from, every, times)| Fault {
        on,
        act,
        // Half of them are there from the start.
        from: if from < 30 { 0 } else { from },
        every,
        times,
    })
}

/// Tries that many schedules, and returns the smallest that fails.
fn try_schedules(seed: u64, count: u32, honest_runs: &[(Manager, Outcome)]) -> Result<(), String> {
    let schedule = (0..honest_runs.len(), vec(fault(), 1..4));
    let outcome = seeds::runner(seed, count).run(&schedule, |(place, faults)| {
        let (manager, honest) = &honest_runs[place];
        let outcome = run(*manager, OBSERVE, &faults);
        check(honest, &faults, OBSERVE, &outcome)
            .map_err(|complaint| TestCaseError::fail(format!("{manager:?}: {complaint}")))
    });
    outcome.map_err(|error| match error {
        TestError::Fail(why, (_, faults)) => {
            let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
            format!("FIRE_SEED={seed}: {why}\nwith {}", faults.join(" + "))
        }
        TestError::Abort(why) => format!("FIRE_SEED={seed}: {why}"),
    })
}

#[test]
fn no_schedule_leads_to_a_wrong_verdict_or_a_long_run() {
    let runs = Manager::ALL.map(|manager| (manager, honest(manager, OBSERVE)));
    let complaints = seeds::complaints("FIRE", SCHEDULES, |seed, count| try_schedules(seed, count, &runs));
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
