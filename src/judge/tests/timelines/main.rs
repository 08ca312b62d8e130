//! The rules' examples, seen in other ways: what is said of a manager must not depend on when a run begins or ends, on its
//! clock, on what it may not see, or on faults of the hub.

mod beginnings;
mod endings;
mod losses;
#[path = "../support/timeline.rs"]
mod timeline;

use std::collections::BTreeSet;

use evidence::Evidence;
use judge::{Selection, judge, rules::Rule};

/// Whether a rule finds more than a remark.
fn finds(rule: &Rule, evidence: &Evidence) -> bool {
    let selection = Selection {
        filters: vec![rule.id.to_owned()],
        exact: true,
        ..Selection::default()
    };
    let verdicts = judge(evidence, &selection).verdicts;
    let mut findings = verdicts.iter().flat_map(|verdict| &verdict.findings);
    findings.any(|finding| !finding.advisory)
}

fn named(examples: &[(&'static str, &str)]) -> BTreeSet<(&'static str, String)> {
    examples
        .iter()
        .map(|(rule, example)| (*rule, (*example).to_owned()))
        .collect()
}
