//! Chaos: whatever a hub or its network does, a run ends in time, sends few requests, shows no secret, and has no wrong
//! verdict. *A fault of the hub may make a verdict inconclusive, never wrong.*
//!
//! In this process and by the paused clock. Hubs that never end an answer over sockets are in `cli::network`.

mod fault;
mod proxy;
mod rows;
mod schedules;
mod world;

use judge::Verdict;

use self::{
    fault::{Act, Fault, On},
    rows::rows,
    world::{Manager, Outcome, run},
};
use super::on_all_cores;

/// The window in which a run has to end within a minute, and one in which something happens.
const SHORT: u64 = 4;
const LONG: u64 = 150;

/// How large an object may be, and a bit less than that for what is around an annotation of it.
const LARGEST: usize = evidence::LARGEST_OBJECT;
const AROUND: usize = 4 << 10;

/// How much longer than its window a run may take, as long as the window is short.
const PATIENCE: u64 = 55;
/// What an honest hub is asked in a run of any length, and how often a refused request is sent again in all.
const REQUESTS: u64 = 60;

/// Checks what must hold with any fault.
fn check(honest: &Outcome, faults: &[Fault], observe: u64, outcome: &Outcome) -> Result<(), String> {
    let Outcome { took, requests, .. } = outcome;
    let limit = observe + observe.max(30) + PATIENCE - 30;
    if *took > limit {
        return Err(format!("it took {took} s of {limit} s"));
    }
    let count = requests.len() as u64;
    if count > REQUESTS + took {
        let last = &requests[requests.len().saturating_sub(5)..];
        return Err(format!("{count} requests in {took} s, for example {last:#?}"));
    }
    // A request that was given up before it was sent counts too.
    if let Some(reported) = outcome.reported_requests
        && !(count..=count + 2).contains(&reported)
    {
        return Err(format!("the report counts {reported} of {count} requests"));
    }
    if let Some(line) = outcome.outputs.lines().find(|line| line.contains("CANARY")) {
        return Err(format!("a secret is shown: {line:.200}"));
    }
    if faults.iter().any(Fault::is_lie) {
        return Ok(());
    }
    let mut wrong = Vec::new();
    for ((rule, honest), (_, verdict)) in honest.verdicts.iter().zip(&outcome.verdicts) {
        let is_decided = !matches!(verdict, Verdict::Inconclusive | Verdict::Skipped);
        if is_decided && is_complaint(*honest) != is_complaint(*verdict) {
            wrong.push(format!("{rule}: {verdict:?} instead of {honest:?}"));
        }
    }
    if !wrong.is_empty() {
        return Err(format!("wrong verdicts: {wrong:#?}"));
    }
    if ![honest.exit, 3, 4].contains(&outcome.exit) {
        return Err(format!("exit code {} instead of {}", outcome.exit, honest.exit));
    }
    Ok(())
}

/// Whether the manager violates the rule. A run that begins later may have nothing to examine, which is not a violation.
fn is_complaint(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Fail | Verdict::Warn)
}

fn honest(manager: Manager, observe: u64) -> Outcome {
    run(manager, observe, &[])
}

#[test]
fn each_manager_fails_its_rules_on_an_honest_hub() {
    let restless = [
        "conditions/transition-time-kept",
        "updates/status-writes-within-budget",
    ];
    for (manager, expected) in [
        (Manager::Conforming, &[][..]),
        (Manager::Leaking, &["access/no-secrets-elsewhere"]),
        (Manager::Restless, &restless),
    ] {
        let mut verdicts = honest(manager, LONG).verdicts;
        verdicts.retain(|(_, verdict)| *verdict == Verdict::Fail);
        let failed: Vec<&str> = verdicts.iter().map(|(rule, _)| *rule).collect();
        assert_eq!(failed, expected);
    }
}

/// Runs every row with one manager, and [`check`]s it. Returns how each run ends, with `?` if a rule was inconclusive.
fn ends(manager: Manager, observe: u64) -> String {
    let honest = honest(manager, observe);
    let mut rows = rows();
    rows.insert(0, Vec::new());
    assert!(rows.len() > 200, "{}", rows.len());
    let ends = on_all_cores(&rows, |faults| {
        let name: Vec<String> = faults.iter().map(Fault::to_string).collect();
        let name = name.join(" + ");
        let outcome = run(manager, observe, faults);
        let complaint = check(&honest, faults, observe, &outcome).err();
        let is_inconclusive = outcome.count(Verdict::Inconclusive) > 0;
        let mark = if is_inconclusive { "?" } else { "" };
        let end = format!("{name:56} | {}{mark}", outcome.exit);
        (end, complaint.map(|complaint| format!("{name}: {complaint}")))
    });
    let (ends, complaints): (Vec<String>, Vec<Option<String>>) = ends.into_iter().unzip();
    let complaints: Vec<String> = complaints.into_iter().flatten().collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    ends.join("\n")
}

#[test]
fn no_misbehaviour_hides_a_token_in_a_short_run() {
    insta::assert_snapshot!("leaking", ends(Manager::Leaking, SHORT));
}

#[test]
fn no_misbehaviour_breaks_a_rule_for_a_conforming_manager() {
    insta::assert_snapshot!("conforming", ends(Manager::Conforming, LONG));
}

#[test]
#[ignore = "takes long, and is run by `just everything`"]
fn no_misbehaviour_leads_to_a_wrong_verdict_on_a_restless_manager() {
    ends(Manager::Restless, LONG);
}

/// A run with profiles of that size, with one manager only, to save time.
fn run_with_profiles_of(bytes: usize) -> Outcome {
    let faults = [Fault::always(On::Profiles, Act::Large(bytes))];
    let outcome = run(Manager::Leaking, SHORT, &faults);
    check(&honest(Manager::Leaking, SHORT), &faults, SHORT, &outcome).expect("no complaint");
    outcome
}

#[test]
#[ignore = "takes long, and is run by `just everything`"]
fn object_is_read_up_to_its_bound() {
    assert!(!run_with_profiles_of(LARGEST - AROUND).verdicts.is_empty());
}

#[test]
fn object_is_not_read_beyond_its_bound() {
    let refused = run_with_profiles_of(LARGEST);
    assert_eq!(refused.exit, 4);
    assert!(refused.outputs.contains("too large"), "{}", refused.outputs);
}

#[test]
fn endless_stream_does_not_prevent_the_end_of_a_run() {
    const OBSERVE: u64 = 1;
    let faults = [
        Fault::always(On::Stream, Act::Code(422, None)),
        Fault::always(On::Resume, Act::Floods),
    ];
    let honest = honest(Manager::Leaking, OBSERVE);
    let outcome = run(Manager::Leaking, OBSERVE, &faults);
    check(&honest, &faults, OBSERVE, &outcome).expect("no complaint");
    assert!(!outcome.verdicts.is_empty(), "{}", outcome.outputs);
}
