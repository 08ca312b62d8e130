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
    fail,
    matrix::{check_fault, expect_verdicts, verdicts},
    observed_consumer::ConsumerRun,
};

pub fn trials() -> Vec<Trial> {
    let trial =
        |name: &str, test: fn() -> Result<(), Failed>| Trial::test(format!("consumers::{name}"), test);
    let mut trials = vec![
        trial("a consumer that rolls out, wave by wave", rolls_out),
        trial(
            "no credential of a member is in the evidence",
            keeps_no_credential,
        ),
        trial("a run that is stopped", is_stopped),
    ];
    for edition in Role::Consumer.editions() {
        let name = format!("consumers::without a fault, edition {edition}");
        trials.push(Trial::test(name, move || {
            conforms(edition, &Habits::default(), &[PROFILE_ARGS_OFF])
        }));
    }
    for (name, habits, skipped) in honest() {
        let name = format!("consumers::a consumer that {name}");
        trials.push(Trial::test(name, move || {
            conforms(Edition::Consumer2026M09, &habits, skipped)
        }));
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
    const UNHEALTHY: &[&str] = &[PROFILE_ARGS_OFF, "consumer-health/unhealthy-not-dispatched"];
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
            with(|h| h.work_time = Duration::from_secs(2)),
            DEFAULT,
        ),
        ("is slow", with(|h| h.work_time = Duration::from_secs(9)), DEFAULT),
        (
            "keeps the last known good",
            with(|h| h.keeps_last_known_good = true),
            DEFAULT,
        ),
        (
            "calls unhealthy members",
            with(|h| h.calls_unhealthy = true),
            UNHEALTHY,
        ),
        (
            "acts on duplicates",
            with(|h| h.acts_on_duplicates = true),
            IDENTITY,
        ),
        ("warns by events", with(|h| h.warns_by_events = true), DEFAULT),
        ("sets finalizers", with(|h| h.finalizes = true), DEFAULT),
        (
            "drops arguments of profiles",
            with(|h| h.drops_profile_args = true),
            NO_ARGS,
        ),
        (
            "reads placement decisions",
            with(|h| h.reads_placements = true),
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
    let bearer = |line: &String| Some(line.split_once("Authorization: Bearer ")?.1.to_owned());
    let tokens: BTreeSet<String> = lines.iter().filter_map(bearer).collect();
    if tokens.len() < 20 {
        return fail(format!("only {} credentials were logged", tokens.len()));
    }
    let mut shown = tokens.iter().filter(|token| text.contains(token.as_str()));
    shown.next().map_or(Ok(()), |token| {
        fail(format!("the evidence has the credential {token}"))
    })
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
            return fail(format!("stopped after {seconds} s: {complaints:#?}"));
        }
    }
    Ok(())
}
