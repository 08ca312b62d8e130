//! What is found stays found.

use std::collections::BTreeSet;

use super::{SAMPLE, assert_exceptions, finds, less::as_of, named, sampled, timeline::moments};
use crate::examples;

/// Passes that are found broken if the runner looks too soon, as it cannot know better.
const TOO_SOON: [(&str, &str); 2] = [
    // What is wrong in the first list may have been so for long.
    (
        "conditions/status-follows-joined",
        "empty when the run begins, and filled within two minutes",
    ),
    // A profile is missing until it is created.
    (
        "identity/expected-profiles",
        "a profile was created just before the end",
    ),
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
        // No time to look is a snapshot, of which nothing is known before.
        let moments = moments(evidence).into_iter().filter(|now| Some(*now) != began);
        for now in sampled(example, moments) {
            let is_found = finds(rule, &as_of(evidence, now));
            if was_found && !is_found {
                too_soon.insert((rule.id, example.name.clone()));
            }
            was_found = is_found;
            asked += 1;
        }
    }
    assert_exceptions(&too_soon, &named(&TOO_SOON));
    assert!(asked > 15_000 / SAMPLE / 2, "{asked} judgements");
}
