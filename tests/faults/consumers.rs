//! The fault matrix of consumers: the reference consumer breaks one rule at a time on the lab's testbed, and the suite says so
//! of that rule alone. Consumers with other habits are honest, too.

use std::{collections::BTreeSet, time::Duration};

use evidence::{
    api::{Edition, Role},
    file::write_to,
};
use judge::Verdict;
use lab::{
    consumer::{Habits, Polling},
    fault::{FaultInfo, faults},
};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::{
    broken::{expect_broken, verdicts},
    matrix::every_rule_has_a_fault,
    observed_consumer::ConsumerRun,
    one_each,
};

pub fn trials(args: &Arguments) -> Vec<Trial> {
    let mut trials = vec![Trial::test("consumers::every rule has a fault", || {
        every_rule_has_a_fault(Role::Consumer)
    })];
    for edition in Role::Consumer.editions() {
        let name = format!("consumers::the conforming consumer, edition {edition}");
        trials.push(Trial::test(name, move || {
            conforms(edition, &Habits::default(), &OFF_BY_DEFAULT)
        }));
    }
    for (name, habits, skipped) in honest() {
        trials.push(Trial::test(format!("consumers::{name}"), move || {
            conforms(Edition::Consumer2026M09, &habits, skipped)
        }));
    }
    trials.push(Trial::test(
        "consumers::a consumer that rolls out, wave by wave",
        rolls_out,
    ));
    trials.push(Trial::test(
        "consumers::no credential of a member is in the evidence",
        keeps_no_credential,
    ));
    for seconds in [30, 150, 200, 230, 260] {
        let name = format!("consumers::a run that is stopped after {seconds} s");
        let trial = Trial::test(name, move || is_cut(Duration::from_secs(seconds)));
        let is_tried = args.filter.is_some() || seconds == 200;
        trials.push(trial.with_ignored_flag(!is_tried));
    }
    trials.extend(one_each::trials(
        "consumers",
        args,
        faults(Role::Consumer),
        breaks_its_rule_alone,
    ));
    trials
}

/// A consumer gets at least this many credentials.
const MANY: usize = 20;

/// Skips a consumer that passes arguments of profiles to the plugin.
const OFF_BY_DEFAULT: [&str; 1] = ["consumer-exec/profile-args-off-by-default"];

/// Whether a rule skips a consumer that reads no decisions.
fn is_on_placements(rule: &str) -> bool {
    rule.starts_with("consumer-placement/")
}

/// Honest consumers with other habits, and the rules that skip them.
fn honest() -> [(&'static str, Habits, &'static [&'static str]); 10] {
    const IDENTITY: &[&str] = &[
        "consumer-identity/oldest-wins",
        "consumer-identity/tie-acts-on-none",
        "consumer-identity/empty-is-absent",
        "consumer-identity/other-inventories-stay",
        "consumer-identity/next-takes-over",
        "consumer-identity/warning-surfaced",
        "consumer-exec/profile-args-off-by-default",
    ];
    let polls = Some(Polling {
        interval: Duration::from_secs(10),
        jitter: Duration::ZERO,
    });
    let work_time = |seconds| Habits {
        work_time: Duration::from_secs(seconds),
        ..Habits::default()
    };
    let like = |change: fn(&mut Habits)| {
        let mut habits = Habits::default();
        change(&mut habits);
        habits
    };
    [
        (
            "a consumer that polls",
            Habits {
                polls,
                ..Habits::default()
            },
            &OFF_BY_DEFAULT,
        ),
        ("a sequential consumer", work_time(2), &OFF_BY_DEFAULT),
        ("a slow sequential consumer", work_time(9), &OFF_BY_DEFAULT),
        (
            "a consumer that keeps the last known good",
            like(|habits| habits.keeps_last_known_good = true),
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that calls unhealthy members",
            like(|habits| habits.calls_unhealthy = true),
            &[
                "consumer-exec/profile-args-off-by-default",
                "consumer-health/unhealthy-not-dispatched",
            ],
        ),
        (
            "a consumer whose actions do not conflict",
            like(|habits| habits.acts_on_duplicates = true),
            IDENTITY,
        ),
        (
            "a consumer that warns by events",
            like(|habits| habits.warns_by_events = true),
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that sets finalizers",
            like(|habits| habits.finalizes = true),
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that passes no arguments of profiles to the plugin",
            like(|habits| habits.drops_profile_args = true),
            &[
                "consumer-exec/profile-args-as-told",
                "consumer-exec/nothing-leaks-between-profiles",
            ],
        ),
        (
            "a consumer that acts on what decisions name",
            like(|habits| habits.reads_placements = true),
            &OFF_BY_DEFAULT,
        ),
    ]
}

/// Each rule passes, except those that skip the consumer.
fn conforms(edition: Edition, habits: &Habits, skipped: &[&str]) -> Result<(), Failed> {
    expect_verdicts(edition, habits, |id| {
        if skipped.contains(&id) || is_on_placements(id) && !habits.reads_placements {
            Verdict::Skipped
        } else {
            Verdict::Pass
        }
    })
}

/// The consumer gets these verdicts, by the ids of rules.
fn expect_verdicts(
    edition: Edition,
    habits: &Habits,
    expected: impl Fn(&str) -> Verdict,
) -> Result<(), Failed> {
    let run = ConsumerRun {
        edition,
        habits: habits.clone(),
        ..ConsumerRun::default()
    };
    let verdicts = verdicts(&run.observe());
    let others: Vec<_> = verdicts
        .iter()
        .filter(|(id, verdict, _)| *verdict != expected(id))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(format!("{others:#?}").into())
}

/// A consumer that comes to the members of a decision in waves is not judged by those that it has not come to. All else is judged.
fn rolls_out() -> Result<(), Failed> {
    let habits = Habits {
        reads_placements: true,
        rolls_out: true,
        ..Habits::default()
    };
    expect_verdicts(Edition::Consumer2026M09, &habits, |id| match id {
        "consumer-placement/all-slices" | "consumer-placement/references" | "consumer-placement/follows" => {
            Verdict::Inconclusive
        }
        id if OFF_BY_DEFAULT.contains(&id) => Verdict::Skipped,
        _ => Verdict::Pass,
    })
}

/// Reports are made of the evidence, so that what is not there is in none of them. The consumer's own log tells the credentials.
fn keeps_no_credential() -> Result<(), Failed> {
    let fault = "consumer-secrets/nothing-secret-in-the-open";
    let run = ConsumerRun {
        faults: &[fault],
        ..ConsumerRun::default()
    };
    let (evidence, lines) = run.observe_with_log();
    let mut text = Vec::new();
    write_to(&evidence, &mut text)?;
    let text = String::from_utf8(text)?;
    let bearer = "Authorization: Bearer ";
    let logged = lines.iter().filter_map(|line| Some(line.split_once(bearer)?.1));
    let tokens: BTreeSet<&str> = logged.collect();
    if tokens.len() < MANY {
        return Err(format!("only {} credentials were logged", tokens.len()).into());
    }
    match tokens.iter().find(|token| text.contains(**token)) {
        Some(token) => Err(format!("the evidence has the credential {token}").into()),
        None => Ok(()),
    }
}

/// A run that is stopped blames the consumer for nothing, and leaves nothing on the hub.
fn is_cut(after: Duration) -> Result<(), Failed> {
    let habits = Habits {
        reads_placements: true,
        ..Habits::default()
    };
    let run = ConsumerRun {
        habits,
        stop_after: Some(after),
        ..ConsumerRun::default()
    };
    let verdicts = verdicts(&run.observe());
    let is_complaint = |verdict: &Verdict| matches!(verdict, Verdict::Fail | Verdict::Warn);
    if verdicts.iter().any(|(_, verdict, _)| is_complaint(verdict)) {
        return Err(format!("{verdicts:#?}").into());
    }
    Ok(())
}

fn breaks_its_rule_alone(fault: &FaultInfo) -> Result<(), Failed> {
    let also = fault.also.iter().copied();
    let broken: BTreeSet<&str> = also.chain([fault.rule()]).collect();
    let run = ConsumerRun {
        edition: fault.edition,
        faults: &[fault.id],
        ..ConsumerRun::default()
    };
    let evidence = run.observe();
    expect_broken("on the lab's testbed", &broken, &evidence)
}
