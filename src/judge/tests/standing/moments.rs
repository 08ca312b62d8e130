//! The rules' examples at each moment of their time lines.

use std::{collections::BTreeSet, env};

use evidence::{Evidence, History, ObjectKey};
use jiff::{SignedDuration, Timestamp};
use judge::{
    Selection, Standing, judge,
    rules::{self, Rule, example::Example},
};

use super::difference;

/// Of so many examples, `cargo test` keeps the verdicts of one at each moment.
const STEP: usize = 9;
/// When to look after something has happened, in seconds.
const AFTER: [i64; 12] = [0, 1, 5, 10, 31, 59, 61, 90, 119, 121, 299, 301];

/// Passes that are found broken if the runner looks too soon, as it cannot know better.
const TOO_SOON: [(&str, &str); 6] = [
    // What is wrong in the first list may have been so for long.
    (
        "identity/manager-label-present",
        "it came back soon after the watch began",
    ),
    // A time that is 6 min ahead is only 5 min ahead when the watch ends.
    (
        "conditions/well-formed",
        "a clock that is five minutes ahead is tolerated",
    ),
    // The log has a request before the watch has what it made. A run reads the log when the watch is over.
    (
        "identity/manager-label-from-creation",
        "what the watch saw is believed before what was sent",
    ),
    // Only its request shows that it is a scheduler, a while after its rights are read.
    (
        "placement-ownership/consumers-cannot-write",
        "a consumer that is a scheduler too",
    ),
    // The evidence has namespaces as they are at the end.
    (
        "placement-references/namespace-readable",
        "the last list is what counts",
    ),
    // Advice on slices as they are: a decision that moves is in two inventories on the way.
    (
        "placement-references/of-one-inventory",
        "a decision that has moved to another inventory",
    ),
];

pub fn examples() -> impl Iterator<Item = (&'static Rule, Example)> {
    rules::all().iter().flat_map(|rule| {
        let examples = Example::of(rule).expect("examples").into_iter();
        examples.map(move |example| (rule, example))
    })
}

/// Evidence as it was at some moment of its window. Histories come in the order in which they began.
fn as_of(evidence: &Evidence, now: Timestamp) -> Evidence {
    let mut then = evidence.clone();
    if let Some(window) = &mut then.header.window {
        window.until = now;
    }
    cut(&mut then.profiles, now);
    cut(&mut then.slices, now);
    for log in [&mut then.requests, &mut then.slice_requests]
        .into_iter()
        .flatten()
    {
        log.covers.until = log.covers.until.min(now).max(log.covers.from);
        log.events.retain(|request| request.at <= now);
    }
    for member in &mut then.members {
        member.looks.retain(|look| look.until <= now);
    }
    then.gaps.retain(|gap| gap.from.is_none_or(|from| from <= now));
    for gap in &mut then.gaps {
        gap.until = gap.until.map(|until| until.min(now));
    }
    then
}

fn cut<T>(histories: &mut Vec<History<T>>, now: Timestamp) {
    for history in &mut *histories {
        history.versions.retain(|version| version.at <= now);
        history.deleted = history.deleted.filter(|deleted| *deleted <= now);
    }
    histories.retain(|history| !history.versions.is_empty());
    histories.sort_by_key(|history| history.versions[0].at);
}

pub fn events<T>(histories: &[History<T>]) -> impl Iterator<Item = Timestamp> {
    histories.iter().flat_map(|history| {
        let versions = history.versions.iter().map(|version| version.at);
        versions.chain(history.deleted)
    })
}

/// The moments at which something happens to an object, some in between, and some after the last.
fn moments(evidence: &Evidence) -> Vec<Timestamp> {
    let Some(window) = evidence.header.window else {
        return Vec::new();
    };
    let of_gaps = evidence.gaps.iter().flat_map(|gap| [gap.from, gap.until]);
    let events = events(&evidence.profiles)
        .chain(events(&evidence.slices))
        .chain(of_gaps.flatten())
        .chain([window.until]);
    let events: BTreeSet<Timestamp> = events
        .flat_map(|at| AFTER.map(|seconds| at + SignedDuration::from_secs(seconds)))
        .filter(|at| (window.from..=window.until).contains(at))
        .collect();
    events.into_iter().collect()
}

/// Examples as they come about: what their verdicts turn on is in their time lines.
#[test]
fn examples_are_judged_alike_at_each_moment() {
    let step = env::var("STANDING_STEP").map_or(STEP, |step| step.parse().expect("a number"));
    let mut asked = 0;
    for (rule, example) in examples().step_by(step) {
        let mut standing = Standing::new(Selection::default());
        let mut before = Evidence::default();
        for now in moments(example.evidence()) {
            let then = as_of(example.evidence(), now);
            for history in &then.profiles {
                if !before.profiles.contains(history) {
                    standing.profile_changed(ObjectKey::of(history.last()));
                }
            }
            if let Some(difference) = difference(&standing.judgement(&then), &then) {
                panic!(
                    "suites/{}.yaml, example `{}`, at {now}: {difference}",
                    rule.id, example.name
                );
            }
            asked += 1;
            before = then;
        }
    }
    assert!(asked > 1_000, "{asked} judgements");
}

/// Whether a rule finds more than a remark.
pub fn finds(rule: &Rule, evidence: &Evidence) -> bool {
    let selection = Selection {
        filters: vec![rule.id.to_owned()],
        exact: true,
        ..Selection::default()
    };
    let verdicts = judge(evidence, &selection).verdicts;
    let mut findings = verdicts.iter().flat_map(|verdict| &verdict.findings);
    findings.any(|finding| !finding.advisory)
}

/// A run may end at any moment, and a monitor tells at each: what is found stays found until the window leaves it behind.
/// So no manager that keeps a rule breaks it on the way.
#[test]
fn what_is_found_stays_found() {
    let mut asked = 0;
    let mut too_soon = BTreeSet::new();
    for (rule, example) in examples().filter(|(_, example)| example.evidence().driver.is_none()) {
        let evidence = example.evidence();
        let began = evidence.header.window.map(|window| window.from);
        let mut was_found = false;
        // No time to look is a snapshot, of which nothing is known before.
        for now in moments(evidence).into_iter().filter(|now| Some(*now) != began) {
            let is_found = finds(rule, &as_of(evidence, now));
            if was_found && !is_found {
                too_soon.insert((rule.id, example.name.clone()));
            }
            was_found = is_found;
            asked += 1;
        }
    }
    let known = TOO_SOON.map(|(rule, example)| (rule, example.to_owned()));
    assert_eq!(too_soon, BTreeSet::from(known));
    assert!(asked > 15_000, "{asked} judgements");
}
