//! Chaos: whatever a hub or the network before it does, a run ends in time, spares the hub, tells no secret, and judges
//! nobody wrongly. *A fault of the hub may make a verdict inconclusive, never wrong.*
//!
//! In this process and under the paused clock; what is about TLS, the head of an answer or full speed over sockets.

mod fault;
mod flood;
mod proxy;
mod rows;
mod schedules;
mod sockets;
mod table;
mod world;

use judge::Verdict;

use self::{
    fault::Fault,
    world::{Manager, Outcome, run},
};

/// How much longer than its window a run may take, as long as the window is short.
const PATIENCE: u64 = 55;
/// What an honest hub is asked in a run of any length, and how often a refused request is sent again in all.
const REQUESTS: u64 = 60;

/// Complains of what no fault may bring about.
fn check(honest: &Outcome, faults: &[Fault], observe: u64, outcome: &Outcome) -> Result<(), String> {
    let limit = observe + observe.max(30) + PATIENCE - 30;
    if outcome.took > limit {
        return Err(format!("it took {} s of {limit} s", outcome.took));
    }
    let requests = outcome.requests.len() as u64;
    if requests > REQUESTS + outcome.took {
        let last = &outcome.requests[outcome.requests.len().saturating_sub(5)..];
        return Err(format!(
            "{requests} requests in {} s, such as {last:#?}",
            outcome.took
        ));
    }
    // A request that was given up before it was sent counts too.
    if outcome
        .told_requests
        .is_some_and(|told| !(requests..=requests + 2).contains(&told))
    {
        return Err(format!(
            "the report tells {:?} of {requests} requests",
            outcome.told_requests
        ));
    }
    if let Some(at) = outcome.outputs.find("CANARY") {
        let around = &outcome.outputs.as_bytes()[at.saturating_sub(100)..];
        let around = String::from_utf8_lossy(&around[..around.len().min(200)]);
        return Err(format!("a secret is told: {around}"));
    }
    if faults.iter().any(Fault::is_lie) {
        return Ok(());
    }
    let wrong: Vec<_> = honest
        .verdicts
        .iter()
        .zip(&outcome.verdicts)
        .filter(|((_, honest), (_, seen))| {
            !matches!(seen, Verdict::Inconclusive | Verdict::Skipped)
                && is_complaint(*honest) != is_complaint(*seen)
        })
        .map(|((rule, honest), (_, seen))| format!("{rule}: {seen:?} instead of {honest:?}"))
        .collect();
    if !wrong.is_empty() {
        return Err(format!("wrong verdicts: {wrong:#?}"));
    }
    if ![honest.exit, 3, 4].contains(&outcome.exit) {
        return Err(format!("exit code {} instead of {}", outcome.exit, honest.exit));
    }
    Ok(())
}

/// Whether the manager is blamed. A run that begins later may find nothing to examine: that is no blame either.
fn is_complaint(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Warn)
}

/// An honest hub: what all is compared with.
fn honest(manager: Manager, observe: u64) -> Outcome {
    run(manager, observe, &[])
}

#[test]
fn the_managers_are_what_they_are_said_to_be() {
    let broken = |manager| {
        let verdicts = honest(manager, table::LONG).verdicts.into_iter();
        let broken = verdicts.filter(|(_, verdict)| *verdict == Verdict::Fail);
        broken.map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    assert_eq!(broken(Manager::Conforming), [""; 0]);
    assert_eq!(broken(Manager::Leaking), ["access/no-secrets-elsewhere"]);
    assert_eq!(
        broken(Manager::Restless),
        [
            "conditions/transition-time-kept",
            "updates/status-writes-within-budget"
        ]
    );
}
