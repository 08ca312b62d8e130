//! The runner's clock may be wrong, if the run knows by how much.

use std::collections::BTreeSet;

use evidence::Evidence;
use jiff::SignedDuration;
use judge::rules::Rule;

use super::{SAMPLE, assert_exceptions, judged, less::set_back, named, sampled};
use crate::examples;

/// How far the runner's clock is set back, in seconds.
const SET_BACK: [i64; 4] = [-5_400, -7, 90, 36_000];

/// Examples that turn on the runner's clock.
const BY_THE_RUNNER: [(&str, &str); 3] = [
    // Managers may follow the runner's clock or the hub's, so a time is in the future if it is for both.
    (
        "conditions/well-formed",
        "a clock that is eight minutes ahead is not tolerated",
    ),
    (
        "conditions/well-formed",
        "a time that is in the future for three minutes",
    ),
    ("properties/observed-time-sane", "a time that is an hour ahead"),
];

/// What one rule says of it.
fn said(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let findings = judged.findings.into_iter();
    let findings: Vec<_> = findings
        .map(|finding| (finding.object, finding.path, finding.advisory))
        .collect();
    (judged.verdict, judged.examined, judged.doubts.len(), findings)
}

/// The same is found, whatever the runner's clock says.
#[test]
fn a_clock_that_is_known_to_be_wrong_changes_no_verdict() {
    let mut asked = 0;
    let mut changed = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        let header = &evidence.header;
        if header.clock_skew_ms.is_none() || header.window.is_none() {
            continue;
        }
        let before = said(rule, evidence);
        for seconds in sampled(example, SET_BACK) {
            if said(rule, &set_back(evidence, SignedDuration::from_secs(seconds))) != before {
                changed.insert((rule.id, example.name.clone()));
            }
            asked += 1;
        }
    }
    assert_exceptions(&changed, &named(&BY_THE_RUNNER));
    assert!(asked > 5_000 / SAMPLE / 2, "{asked} judgements");
}
