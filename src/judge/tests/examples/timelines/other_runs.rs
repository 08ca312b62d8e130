//! A run may begin and end at any moment, its clock may be wrong if it knows by how much, and lists have any order.

use std::collections::BTreeSet;

use evidence::{Evidence, Gap};
use jiff::{SignedDuration, Timestamp};
use judge::rules::Rule;
use serde_json::Value;

use super::{
    SAMPLE, assert_exceptions, examples_with, finds, judged,
    less::{as_of, set_back, since},
    moments, name_of, named, sampled,
};
use crate::examples;

/// What the first list shows counts as old. So a violation may count that began shortly before, and was open at the end.
const GRACE: SignedDuration = SignedDuration::from_secs(120);

/// Examples that depend on earlier evidence.
const BEFORE: [&str; 4] = [
    // A slice that refers to no profile; the deletion of the profile was not observed.
    "placement-references/resolve: a profile that is deleted later",
    "placement-references/resolve: the scheduler writes a list with a deleted profile again",
    "placement-references/resolve: a cluster without a profile moves to another slice",
    "placement-references/resolve: all slices get new names after the deletion of a profile",
];

/// How late an example may report what happened in a gap. A first list reports it immediately.
const LATE_AFTER_GAP: SignedDuration = SignedDuration::from_secs(10);

/// When a run may have begun: not in a gap, and not too late to observe a lasting state.
fn beginnings(evidence: &Evidence) -> Vec<Timestamp> {
    let Some(window) = evidence.header.window else {
        return Vec::new();
    };
    let is_within = |gap: &Gap, at: Timestamp| {
        gap.from.is_none_or(|from| from <= at) && gap.until.is_none_or(|until| at <= until + LATE_AFTER_GAP)
    };
    let mut moments = moments(evidence);
    moments.retain(|at| {
        window.until.duration_since(*at) > GRACE && !evidence.gaps.iter().any(|gap| is_within(gap, *at))
    });
    moments
}

/// A manager that keeps a rule keeps it from each moment on.
#[test]
fn a_later_beginning_breaks_no_rule() {
    let cases = |rule: &Rule, evidence: &Evidence| {
        let is_out = evidence.driver.is_some() || finds(rule, evidence);
        if is_out { Vec::new() } else { beginnings(evidence) }
    };
    let (found, asked) = examples_with(cases, |rule, evidence, began| {
        finds(rule, &since(evidence, began))
    });
    assert_exceptions(&found, &named(&BEFORE));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}

/// Examples that pass, and violate their rule in a run that ends too soon.
const TOO_SOON: [&str; 1] = [
    // A profile is missing until it is created.
    "identity/expected-profiles: a profile was created just before the end",
];

/// A run may end at any moment: a violation that a short run finds is also found by a longer one.
#[test]
fn what_is_found_stays_found() {
    let mut asked = 0;
    let mut too_soon = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        // The actions of a driver, and the periods of a testbed, end with the run.
        if evidence.driver.is_some() || evidence.testbed.is_some() {
            continue;
        }
        let began = evidence.header.window.map(|window| window.from);
        let mut was_found = false;
        // A window without length is a snapshot, without a history.
        let moments = moments(evidence).into_iter().filter(|now| Some(*now) != began);
        for now in sampled(example, moments) {
            let is_found = finds(rule, &as_of(evidence, now));
            if was_found && !is_found {
                too_soon.insert(name_of(rule, example));
            }
            was_found = is_found;
            asked += 1;
        }
    }
    assert_exceptions(&too_soon, &named(&TOO_SOON));
    assert!(asked > 15_000 / SAMPLE / 2, "{asked} judgements");
}

/// How far the runner's clock is set back, in seconds.
const SET_BACK: [i64; 4] = [-5_400, -7, 90, 36_000];

/// Examples that depend on the runner's clock.
const BY_THE_RUNNER: [&str; 3] = [
    // Managers may follow the runner's clock or the hub's, so a time is in the future if it is for both.
    "conditions/well-formed: a clock that is eight minutes ahead is not tolerated",
    "conditions/well-formed: a time that is in the future for three minutes",
    "properties/observed-time-sane: a time that is an hour ahead",
];

/// The verdict, what was examined, the number of doubts, and the findings.
fn outcome(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let findings = judged.findings.into_iter();
    let findings = findings.map(|finding| (finding.object, finding.path, finding.advisory));
    (
        judged.verdict,
        judged.examined,
        judged.doubts.len(),
        Vec::from_iter(findings),
    )
}

/// The runner's clock has no effect on verdicts if its error is known.
#[test]
fn a_clock_that_is_known_to_be_wrong_changes_no_verdict() {
    let cases = |_: &Rule, evidence: &Evidence| {
        let header = &evidence.header;
        let has_clock = header.clock_skew_ms.is_some() && header.window.is_some();
        if has_clock { SET_BACK.to_vec() } else { Vec::new() }
    };
    let (changed, asked) = examples_with(cases, |rule, evidence, seconds| {
        let other = set_back(evidence, SignedDuration::from_secs(seconds));
        outcome(rule, &other) != outcome(rule, evidence)
    });
    assert_exceptions(&changed, &named(&BY_THE_RUNNER));
    assert!(asked > 5_000 / SAMPLE / 2, "{asked} judgements");
}

/// The lists without an order. Lists of events have one.
const LISTS: [&str; 15] = [
    "namespaces",
    "profiles",
    "slices",
    "secrets",
    "unlabelledSecrets",
    "probes",
    "members",
    "endpointCalls",
    "logins",
    "gaps",
    "unreadable",
    "properties",
    "conditions",
    "accessProviders",
    "writers",
];

/// Reverses these lists.
fn reverse(json: &mut Value) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(reverse),
        Value::Object(fields) => {
            for (key, field) in fields {
                reverse(field);
                if let Value::Array(items) = field
                    && LISTS.contains(&key.as_str())
                {
                    items.reverse();
                }
            }
        }
        _ => {}
    }
}

/// Evidence whose lists are reversed.
fn reversed(evidence: &Evidence) -> Evidence {
    let mut json = serde_json::to_value(evidence).expect("JSON");
    reverse(&mut json);
    serde_json::from_value(json).expect("evidence")
}

/// The verdict, what was examined, and how many doubts and findings there are.
fn numbers(rule: &Rule, evidence: &Evidence) -> impl PartialEq + use<> {
    let judged = judged(rule, evidence);
    let counted = judged.findings.iter().filter(|finding| !finding.advisory).count();
    let (doubts, findings) = (judged.doubts.len(), judged.findings.len());
    (judged.verdict, judged.examined, doubts, findings, counted)
}

#[test]
fn the_order_of_lists_changes_no_verdict() {
    let changed = examples().filter(|(rule, example)| {
        let evidence = example.evidence();
        numbers(rule, &reversed(evidence)) != numbers(rule, evidence)
    });
    let changed: Vec<(&str, &str)> = changed.map(|(rule, example)| (rule.id, &*example.name)).collect();
    assert!(changed.is_empty(), "{changed:?}");
}
