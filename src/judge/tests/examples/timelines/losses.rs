//! The rules' examples as a watch shows them that is interrupted, or tells late.

use std::collections::BTreeSet;

use evidence::{Evidence, Kind, Window};
use jiff::{SignedDuration, Timestamp};
use judge::{Verdict, rules::Rule};

use super::{
    SAMPLE, assert_exceptions, finds,
    less::{delayed, interrupted, since},
    named, sampled,
    timeline::events,
    verdict,
};
use crate::examples;

/// How long after a change the watch is disturbed, in milliseconds.
const BEGINS: [i64; 4] = [-8_500, -500, 0, 20_000];
/// How long the watch is interrupted, in seconds.
const LOST: [i64; 5] = [2, 30, 61, 130, 400];
/// With a gap to the end, what the first list showed is the last that was seen, and counts as old.
const AS_OLD: [(&str, &str); 0] = [];

/// Examples that say something else when they come late.
const IN_TIME: [(&str, &str); 6] = [
    // A pause of 15 s looks like one of 6 s, and a pause of 10 s is what tells the two apart.
    (
        "placement-updates/no-torn-reschedule",
        "a cluster that leaves and comes back while the decision pauses may have been dropped on purpose",
    ),
    (
        "conditions/healthy-follows-outage",
        "noticed and healed at about the last moment",
    ),
    (
        "lifecycle/join-fills-status",
        "the watch reports the filled status eight seconds after the deadline",
    ),
    (
        "conditions/joined-follows-leave",
        "the deletion is seen a moment after the time",
    ),
    (
        "placement-lifecycle/crosses-the-limit",
        "the second slice is seen just after the run gave up",
    ),
    (
        "placement-lifecycle/placed",
        "the slice is seen just after the run gave up",
    ),
];

/// Examples that are kept by what is left of them.
const KEPT: [(&str, &str); 5] = [
    // The profile was created and filled within the gap.
    (
        "conditions/status-follows-joined",
        "the health is missing for three minutes after joining",
    ),
    (
        "conditions/status-follows-joined",
        "the health disappears when the version appears",
    ),
    // The profile may have changed so lately that the Secret is excused.
    (
        "consumers/kubeconfig-points-at-member",
        "the profile changed its endpoint eight minutes ago",
    ),
    // Of what comes together, nobody knows which came first.
    (
        "placement-updates/no-torn-reschedule",
        "a slice is created again under another name after its deletion",
    ),
    (
        "placement-updates/no-torn-reschedule",
        "a slice is deleted before its clusters are in another slice",
    ),
];

/// When the watch may be disturbed: around each change.
fn disturbances(evidence: &Evidence, window: Window) -> BTreeSet<Timestamp> {
    let changes = events(&evidence.profiles).chain(events(&evidence.slices));
    changes
        .flat_map(|at| BEGINS.map(|after| at + SignedDuration::from_millis(after)))
        .filter(|from| (window.from..window.until).contains(from))
        .collect()
}

/// The examples in which a rule finds nothing, unless the watch shows them in that way: around each change, for so many
/// seconds. And how many judgements that took.
fn found_anew(
    show: fn(&Evidence, Timestamp, Timestamp) -> Evidence,
    lasts: &[i64],
    is_in_scope: fn(&Evidence) -> bool,
) -> (BTreeSet<(&'static str, String)>, usize) {
    let mut found = BTreeSet::new();
    let mut asked = 0;
    for (rule, example) in examples() {
        let evidence = example.evidence();
        let window = evidence.header.window.filter(|_| is_in_scope(evidence));
        let Some(window) = window.filter(|_| !finds(rule, evidence)) else {
            continue;
        };
        let cases = disturbances(evidence, window).into_iter();
        let cases = cases.flat_map(|from| lasts.iter().map(move |seconds| (from, *seconds)));
        for (from, seconds) in sampled(example, cases) {
            let until = (from + SignedDuration::from_secs(seconds)).min(window.until);
            if finds(rule, &show(evidence, from, until)) {
                found.insert((rule.id, example.name.clone()));
            }
            asked += 1;
        }
    }
    (found, asked)
}

/// A fault of the hub may make a verdict inconclusive, never wrong: what is not found in all that happened is not found in
/// part of it either.
#[test]
fn a_gap_breaks_no_rule() {
    let (found, asked) = found_anew(interrupted, &LOST, |_| true);
    assert_exceptions(&found, &named(&AS_OLD));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}

/// Nor is it found if it is told late. An example with a gap of its own has what it lost at the end of that.
#[test]
fn lateness_breaks_no_rule() {
    let has_no_gap = |evidence: &Evidence| evidence.gaps.is_empty();
    let (found, asked) = found_anew(delayed, &[3, 9, 30, 61, 130, 400], has_no_gap);
    assert_exceptions(&found, &named(&IN_TIME));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}

/// Whether what happened in a gap may be all that breaks the rule: it judges state, and the last look shows none that does.
fn may_be_mended(rule: &Rule, evidence: &Evidence, window: Window) -> bool {
    let judges_changes = [Kind::Timeline, Kind::PlacementTimeline].iter().any(|kind| {
        let facts = &rule.facts;
        facts.needs.contains(kind) || facts.needs_one_of.contains(kind)
    });
    let at_last = verdict(rule, &since(evidence, window.until));
    !judges_changes && !matches!(at_last, Verdict::Fail | Verdict::Warn)
}

/// Nor does a fault of the hub keep a rule: what is found in all that happened is not called kept in part of it.
#[test]
fn a_gap_keeps_no_rule() {
    let mut asked = 0;
    let mut kept = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        let window = evidence.header.window.filter(|_| finds(rule, evidence));
        let Some(window) = window.filter(|window| !may_be_mended(rule, evidence, *window)) else {
            continue;
        };
        let cases = disturbances(evidence, window).into_iter();
        let cases = cases.flat_map(|from| LOST.map(|seconds| (from, seconds)));
        for (from, seconds) in sampled(example, cases) {
            let until = (from + SignedDuration::from_secs(seconds)).min(window.until);
            for show in [interrupted, delayed] {
                if verdict(rule, &show(evidence, from, until)) == Verdict::Pass {
                    kept.insert((rule.id, example.name.clone()));
                }
                asked += 1;
            }
        }
    }
    assert_exceptions(&kept, &named(&KEPT));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}
