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

use std::collections::BTreeSet;

use evidence::Evidence;
use judge::{RuleVerdict, Selection, Verdict, judge, rules::Rule};

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
