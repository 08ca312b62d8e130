//! The rules' examples, observed in other ways: verdicts must not depend on when a run begins or ends, on its clock, on
//! missing permissions, on other programs, or on faults of the hub.

mod disturbances;
#[path = "../../support/less.rs"]
mod less;
mod other_runs;
mod parts;

use std::{collections::BTreeSet, env, fmt::Debug};

use evidence::{Evidence, History};
use jiff::{SignedDuration, Timestamp};
use judge::{
    RuleVerdict, Selection, Verdict, judge,
    rules::{Rule, example::Example},
};

use crate::examples;

/// `cargo test` tries one of this many cases of an example. `TIMELINES=all` tries all.
const SAMPLE: usize = 6;

fn tries_all() -> bool {
    env::var_os("TIMELINES").is_some_and(|value| value == "all")
}

/// The cases of an example to try.
fn sampled<T>(example: &Example, cases: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (first, step) = if tries_all() {
        (0, 1)
    } else {
        (example.name.len() % SAMPLE, SAMPLE)
    };
    cases.into_iter().skip(first).step_by(step)
}

/// Asserts that what a law finds is a known exception, and that every exception still exists if all cases are tried.
#[track_caller]
fn assert_exceptions<T: Ord + Debug>(found: &BTreeSet<T>, known: &BTreeSet<T>) {
    let new: Vec<&T> = found.difference(known).collect();
    assert!(new.is_empty(), "not a known exception: {new:#?}");
    if tries_all() {
        assert_eq!(found, known);
    }
}

/// Examples by their rules and names: `suite/rule: an example`.
type Named = BTreeSet<String>;

fn name_of(rule: &Rule, example: &Example) -> String {
    format!("{}: {}", rule.id, example.name)
}

/// The examples with a case for which something holds, and the number of cases that were tried.
fn examples_with<T>(
    cases: impl Fn(&Rule, &Evidence) -> Vec<T>,
    holds: impl Fn(&Rule, &Evidence, T) -> bool,
) -> (Named, usize) {
    let mut found = Named::new();
    let mut tried = 0;
    for (rule, example) in examples() {
        let evidence = example.evidence();
        for case in sampled(example, cases(rule, evidence)) {
            if holds(rule, evidence, case) {
                found.insert(name_of(rule, example));
            }
            tried += 1;
        }
    }
    (found, tried)
}

/// The verdict of one rule.
fn judged(rule: &Rule, evidence: &Evidence) -> RuleVerdict {
    let selection = Selection {
        filters: vec![rule.id.to_owned()],
        exact: true,
        ..Selection::default()
    };
    let mut verdicts = judge(evidence, &selection).verdicts;
    verdicts.retain(|verdict| verdict.rule.id == rule.id);
    verdicts.pop().expect("a verdict")
}

fn verdict(rule: &Rule, evidence: &Evidence) -> Verdict {
    judged(rule, evidence).verdict
}

/// Whether a rule finds more than warnings.
fn finds(rule: &Rule, evidence: &Evidence) -> bool {
    let judged = judged(rule, evidence);
    judged.findings.iter().any(|finding| !finding.advisory)
}

fn named(examples: &[&str]) -> Named {
    examples.iter().map(|example| (*example).to_owned()).collect()
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

/// How long after each event the window ends, in seconds.
const AFTER: [i64; 12] = [0, 1, 5, 10, 31, 59, 61, 90, 119, 121, 299, 301];

pub fn events<T>(histories: &[History<T>]) -> impl Iterator<Item = Timestamp> {
    histories.iter().flat_map(|history| {
        let versions = history.versions.iter().filter_map(|version| version.at);
        versions.chain(history.deleted)
    })
}

/// The moments of all events, and some after each.
pub fn moments(evidence: &Evidence) -> Vec<Timestamp> {
    let Some(window) = evidence.header.window else {
        return Vec::new();
    };
    let of_gaps = evidence.gaps.iter().flat_map(|gap| [gap.from, gap.until]);
    let events = events(&evidence.profiles)
        .chain(events(&evidence.slices))
        .chain(of_gaps.flatten())
        .chain([window.until]);
    let events: BTreeSet<Timestamp> = events
        .flat_map(|at| AFTER.map(|seconds| at + self::seconds(seconds)))
        .filter(|at| (window.from..=window.until).contains(at))
        .collect();
    events.into_iter().collect()
}
