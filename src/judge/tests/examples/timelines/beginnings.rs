//! A run may begin at any moment.

use std::collections::BTreeSet;

use evidence::{Evidence, Gap};
use jiff::{SignedDuration, Timestamp};

use super::{SAMPLE, assert_exceptions, finds, less::since, named, sampled, timeline::moments};
use crate::examples;

/// What the first list shows counts as old. So a fault may count that began shortly before, and was not mended at the end.
const GRACE: SignedDuration = SignedDuration::from_secs(120);

/// Examples that turn on what came before.
const BEFORE: [(&str, &str); 6] = [
    // A slice that refers to no profile, and nobody saw that the profile went.
    ("placement-references/resolve", "a profile that is deleted later"),
    (
        "placement-references/resolve",
        "the scheduler writes a list with a deleted profile again",
    ),
    (
        "placement-references/resolve",
        "a cluster without a profile moves to another slice",
    ),
    (
        "placement-references/resolve",
        "all slices get new names after the deletion of a profile",
    ),
    // Only the requests that came before show that others create slices, too.
    (
        "placement-references/resolve",
        "by the log, another user created the slice in the namespace of a tenant",
    ),
    (
        "placement-updates/no-empty-writes",
        "two users who may be the scheduler",
    ),
];

/// How late an example may tell what happened in a gap. A first list tells it at once.
const LATE: SignedDuration = SignedDuration::from_secs(10);

/// When a run of that evidence may have begun: not in a gap, and not so late that it sees no state last.
fn beginnings(evidence: &Evidence) -> Vec<Timestamp> {
    let Some(window) = evidence.header.window else {
        return Vec::new();
    };
    let is_within = |gap: &Gap, at: Timestamp| {
        gap.from.is_none_or(|from| from <= at) && gap.until.is_none_or(|until| at <= until + LATE)
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
    let mut asked = 0;
    let mut found = BTreeSet::new();
    for (rule, example) in examples() {
        let evidence = example.evidence();
        if evidence.driver.is_some() || finds(rule, evidence) {
            continue;
        }
        for began in sampled(example, beginnings(evidence)) {
            if finds(rule, &since(evidence, began)) {
                found.insert((rule.id, example.name.clone()));
            }
            asked += 1;
        }
    }
    assert_exceptions(&found, &named(&BEFORE));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}
