//! The reference consumer on the lab's testbed: with other habits, with a log that shows credentials, and in runs that are
//! stopped.

use std::{collections::BTreeSet, time::Duration};

use evidence::{
    api::{Edition, Role},
    file::write_to,
};
use judge::Verdict;
use lab::{
    consumer::{Habits, Polling},
    fault::FaultInfo,
};
use libtest_mimic::{Failed, Trial};

use crate::{
    matrix::{check_fault, expect_verdicts, verdicts},
    observed_consumer::ConsumerRun,
};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("consumers::a consumer that rolls out, wave by wave", rolls_out),
        Trial::test(
            "consumers::no credential of a member is in the evidence",
            keeps_no_credential,
        ),
        Trial::test("consumers::a run that is stopped", is_stopped),
    ];
    for edition in Role::Consumer.editions() {
        let name = format!("consumers::without a fault, edition {edition}");
        trials.push(Trial::test(name, move || {
            conforms(edition, &Habits::default(), &[PROFILE_ARGS_OFF])
        }));
    }
    for (name, habits, skipped) in honest() {
        trials.push(Trial::test(
            format!("consumers::a consumer that {name}"),
            move || conforms(Edition::Consumer2026M09, &habits, skipped),
        ));
    }
    trials
}

pub fn with_fault(fault: &FaultInfo) -> Result<(), Failed> {
    let run = ConsumerRun {
        edition: fault.edition,
        faults: &[fault.id],
        ..ConsumerRun::default()
    };
    check_fault(fault, run.observe())
}

/// Skips a consumer that passes arguments of profiles to the plugin.
const PROFILE_ARGS_OFF: &str = "consumer-exec/profile-args-off-by-default";

/// Honest consumers with other habits, and the rules that skip them.
fn honest() -> Vec<(&'static str, Habits, &'static [&'static str])> {
    const DEFAULT: &[&str] = &[PROFILE_ARGS_OFF];
    const IDENTITY: &[&str] = &[
        "consumer-identity/oldest-wins",
        "consumer-identity/tie-acts-on-none",
        "consumer-identity/empty-is-absent",
        "consumer-identity/other-inventories-stay",
        "consumer-identity/next-takes-over",
        "consumer-identity/warning-surfaced",
        PROFILE_ARGS_OFF,
    ];
    const NO_ARGS: &[&str] = &[
        "consumer-exec/profile-args-as-told",
        "consumer-exec/nothing-leaks-between-profiles",
    ];
    let with = |change: fn(&mut Habits)| {
        let mut habits = Habits::default();
        change(&mut habits);
        habits
    };
    let polls = |habits: &mut Habits| {
        habits.polls = Some(Polling {
            interval: Duration::from_secs(10),
            jitter: Duration::ZERO,
        });
    };
    vec![
        ("polls", with(polls), DEFAULT),
        (
            "is sequential",
            with(|habits| habits.work_time = Duration::from_secs(2)),
            DEFAULT,
        ),
        (
            "is slow",
            with(|habits| habits.work_time = Duration::from_secs(9)),
            DEFAULT,
        ),
        (
            "keeps the last known good",
            with(|habits| habits.keeps_last_known_good = true),
            DEFAULT,
        ),
        (
            "calls unhealthy members",
            with(|habits| habits.calls_unhealthy = true),
            &[PROFILE_ARGS_OFF, "consumer-health/unhealthy-not-dispatched"],
        ),
        (
            "acts on duplicates",
            with(|habits| habits.acts_on_duplicates = true),
            IDENTITY,
        ),
        (
            "warns by events",
            with(|habits| habits.warns_by_events = true),
            DEFAULT,
        ),
        ("sets finalizers", with(|habits| habits.finalizes = true), DEFAULT),
        (
            "drops arguments of profiles",
            with(|habits| habits.drops_profile_args = true),
            NO_ARGS,
        ),
        (
            "reads placement decisions",
            with(|habits| habits.reads_placements = true),
            DEFAULT,
        ),
    ]
}

/// Each rule passes, except those that skip the consumer.
fn conforms(edition: Edition, habits: &Habits, skipped: &[&str]) -> Result<(), Failed> {
    let run = ConsumerRun {
        edition,
        habits: habits.clone(),
        ..ConsumerRun::default()
    };
    expect_verdicts("on the testbed", &run.observe(), |id| {
        let is_on_placements = id.starts_with("consumer-placement/");
        if skipped.contains(&id) || is_on_placements && !habits.reads_placements {
            Verdict::Skipped
        } else {
            Verdict::Pass
        }
    })
}

/// A consumer that calls the members of a decision in waves: rules on members that it has not called yet are inconclusive.
fn rolls_out() -> Result<(), Failed> {
    let mut run = ConsumerRun::default();
    (run.habits.reads_placements, run.habits.rolls_out) = (true, true);
    expect_verdicts("on the testbed", &run.observe(), |id| match id {
        "consumer-placement/all-slices" | "consumer-placement/references" | "consumer-placement/follows" => {
            Verdict::Inconclusive
        }
        PROFILE_ARGS_OFF => Verdict::Skipped,
        _ => Verdict::Pass,
    })
}

/// The consumer's own log has the credentials, and the evidence does not.
fn keeps_no_credential() -> Result<(), Failed> {
    let run = ConsumerRun {
        faults: &["consumer-secrets/nothing-secret-in-the-open"],
        ..ConsumerRun::default()
    };
    let (evidence, lines) = run.observe_with_log();
    let mut text = Vec::new();
    write_to(&evidence, &mut text)?;
    let text = String::from_utf8(text)?;
    let tokens = lines
        .iter()
        .filter_map(|line| Some(line.split_once("Authorization: Bearer ")?.1));
    let tokens: BTreeSet<&str> = tokens.collect();
    if tokens.len() < 20 {
        return Err(format!("only {} credentials were logged", tokens.len()).into());
    }
    match tokens.iter().find(|token| text.contains(**token)) {
        Some(token) => Err(format!("the evidence has the credential {token}").into()),
        None => Ok(()),
    }
}

/// A run that is stopped finds no violation of an honest consumer.
fn is_stopped() -> Result<(), Failed> {
    for seconds in [30, 200, 260] {
        let mut run = ConsumerRun::default();
        run.habits.reads_placements = true;
        run.stop_after = Some(Duration::from_secs(seconds));
        let mut complaints = verdicts(&run.observe());
        complaints.retain(|_, (verdict, _)| matches!(verdict, Verdict::Fail | Verdict::Warn));
        if !complaints.is_empty() {
            return Err(format!("stopped after {seconds} s: {complaints:#?}").into());
        }
    }
    Ok(())
}
