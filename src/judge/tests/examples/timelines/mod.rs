//! The rules' examples, seen in other ways: what is said of a manager must not depend on when a run begins or ends, on its
//! clock, on what it may not see, or on faults of the hub.

mod absences;
mod beginnings;
mod bystanders;
mod clocks;
mod endings;
#[path = "../../support/less.rs"]
mod less;
mod losses;
mod nothing;
mod orders;
mod timeline;

use std::{collections::BTreeSet, env, fmt::Debug};

use evidence::Evidence;
use judge::{
    RuleVerdict, Selection, Verdict, judge,
    rules::{Rule, example::Example},
};

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

/// What is judged by one rule.
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

/// Whether a rule finds more than a remark.
fn finds(rule: &Rule, evidence: &Evidence) -> bool {
    let judged = judged(rule, evidence);
    judged.findings.iter().any(|finding| !finding.advisory)
}

fn named(examples: &[(&'static str, &str)]) -> BTreeSet<(&'static str, String)> {
    examples
        .iter()
        .map(|(rule, example)| (*rule, (*example).to_owned()))
        .collect()
}
