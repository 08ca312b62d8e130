//! The fault matrix of consumers: the reference consumer breaks one rule at a time on the lab's testbed, and the suite says so
//! of that rule alone. Consumers with other habits are honest, too.

use std::{collections::BTreeSet, time::Duration};

use evidence::{
    api::{Edition, Role},
    file::write_to,
};
use judge::Verdict;
use lab::consumer::{FaultInfo, Habits, faults};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::{
    broken::{expect_broken, verdicts},
    matrix::every_rule_has_a_fault,
    observed_consumer::{observe, observe_until, observe_with_log},
    one_each,
};

pub fn trials(args: &Arguments) -> Vec<Trial> {
    let mut trials = vec![Trial::test("consumers::every rule has a fault", || {
        every_rule_has_a_fault(Role::Consumer, faults())
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
        "consumers::a consumer that calls nobody",
        calls_nobody,
    ));
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
        faults(),
        breaks_its_rule_alone,
    ));
    trials
}

/// A consumer is given at least so many credentials.
const MANY: usize = 20;

/// Not asked of who hands on what profiles add to the plugin.
const OFF_BY_DEFAULT: [&str; 1] = ["consumer-exec/profile-args-off-by-default"];

/// Not asked of who reads no decisions.
fn is_on_placements(rule: &str) -> bool {
    rule.starts_with("consumer-placement/")
}

/// Consumers of other habits, of which all rules but these can tell that they are honest.
fn honest() -> [(&'static str, Habits, &'static [&'static str]); 10] {
    let habits = Habits::default();
    [
        (
            "a consumer that polls",
            Habits {
                polls: true,
                ..habits.clone()
            },
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that does one thing after the other",
            Habits {
                takes: Duration::from_secs(2),
                ..habits.clone()
            },
            &OFF_BY_DEFAULT,
        ),
        (
            "a slow consumer that does one thing after the other",
            Habits {
                takes: Duration::from_secs(9),
                ..habits.clone()
            },
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that keeps the last known good",
            Habits {
                keeps_last_known_good: true,
                ..habits.clone()
            },
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that shows sick members to people",
            Habits {
                shows_the_sick: true,
                ..habits.clone()
            },
            &[
                "consumer-exec/profile-args-off-by-default",
                "consumer-health/unhealthy-not-dispatched",
            ],
        ),
        (
            "a consumer whose actions do not conflict",
            Habits {
                repeats_itself: true,
                ..habits.clone()
            },
            &[
                "consumer-identity/oldest-wins",
                "consumer-identity/tie-acts-on-none",
                "consumer-identity/empty-is-absent",
                "consumer-identity/other-inventories-stay",
                "consumer-identity/next-takes-over",
                "consumer-identity/warning-surfaced",
                "consumer-exec/profile-args-off-by-default",
            ],
        ),
        (
            "a consumer that warns by events",
            Habits {
                warns_by_events: true,
                ..habits.clone()
            },
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that holds profiles by a finalizer",
            Habits {
                finalizes: true,
                ..habits.clone()
            },
            &OFF_BY_DEFAULT,
        ),
        (
            "a consumer that hands nothing on to the plugin",
            Habits {
                hands_on_nothing: true,
                ..habits.clone()
            },
            &[
                "consumer-exec/profile-args-as-told",
                "consumer-exec/nothing-leaks-between-profiles",
            ],
        ),
        (
            "a consumer that acts on what decisions name",
            Habits {
                reads_placements: true,
                ..habits
            },
            &OFF_BY_DEFAULT,
        ),
    ]
}

/// Nobody complains of it, and nothing that is staged goes unexamined.
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
    let verdicts = verdicts(&observe(edition, habits, &[]));
    let others: Vec<_> = verdicts
        .iter()
        .filter(|(id, verdict, _)| *verdict != expected(id))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(format!("{others:#?}").into())
}

/// Of a translator nothing is known: it neither passes nor fails.
fn calls_nobody() -> Result<(), Failed> {
    let habits = Habits {
        calls_nobody: true,
        ..Habits::default()
    };
    let verdicts = verdicts(&observe(Edition::Consumer2026M07, &habits, &[]));
    let is_undecided = |verdict: &Verdict| *verdict == Verdict::Inconclusive;
    let mut asked = verdicts.iter().filter(|(id, ..)| !is_on_placements(id));
    if asked.all(|(_, verdict, _)| is_undecided(verdict)) {
        return Ok(());
    }
    Err(format!("{verdicts:#?}").into())
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
    let (evidence, lines) = observe_with_log(Edition::Consumer2026M09, &Habits::default(), &[fault]);
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

/// Nobody is blamed for what was still to come, and nothing is left on the hub.
fn is_cut(after: Duration) -> Result<(), Failed> {
    let habits = Habits {
        reads_placements: true,
        ..Habits::default()
    };
    let verdicts = verdicts(&observe_until(
        Edition::Consumer2026M09,
        &habits,
        &[],
        Some(after),
    ));
    let is_blamed = |verdict: &Verdict| matches!(verdict, Verdict::Fail | Verdict::Warn);
    if verdicts.iter().any(|(_, verdict, _)| is_blamed(verdict)) {
        return Err(format!("{verdicts:#?}").into());
    }
    Ok(())
}

fn breaks_its_rule_alone(fault: &FaultInfo) -> Result<(), Failed> {
    let also = fault.also.iter().copied();
    let broken: BTreeSet<&str> = also.chain([fault.rule()]).collect();
    let evidence = observe(fault.edition, &Habits::default(), &[fault.id]);
    expect_broken("on the lab's testbed", &broken, &evidence)
}
