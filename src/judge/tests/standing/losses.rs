//! The rules' examples with gaps in what the watch saw.

use std::collections::BTreeSet;

use evidence::{Evidence, Gap, History, Kind, Origin};
use jiff::{SignedDuration, Timestamp};

use super::moments::{events, examples, finds};

/// How long the watch is interrupted, in seconds.
const INTERRUPTIONS: [i64; 5] = [2, 30, 61, 130, 400];

/// Examples that lose too much for what they say.
const NO_LOSS: [(&str, &str); 3] = [
    // A time that is 6 min ahead is only 5 min ahead when the watch ends.
    (
        "conditions/well-formed",
        "a clock that is five minutes ahead is tolerated",
    ),
    // A watch that is silent has its gap from its last word on, which is before what it brings late.
    (
        "placement-references/resolve",
        "a watch that is silent brings the correction late",
    ),
    (
        "placement-references/resolve",
        "a watch that is silent brings the new profile late",
    ),
];

/// Evidence of a watch that was interrupted, and whose hub had no history for it: of what happened, a list shows the outcome.
fn interrupted(evidence: &Evidence, from: Timestamp, until: Timestamp) -> Evidence {
    let mut lossy = evidence.clone();
    lose(&mut lossy.profiles, from, until);
    lose(&mut lossy.slices, from, until);
    for kind in [Kind::Timeline, Kind::PlacementTimeline] {
        lossy.gaps.push(Gap {
            from: Some(from),
            until: Some(until),
            ..Gap::of(kind, "the watch was interrupted")
        });
    }
    lossy.gaps.sort_by_key(|gap| gap.from);
    lossy
}

fn lose<T>(histories: &mut Vec<History<T>>, from: Timestamp, until: Timestamp) {
    let is_lost = |at: Timestamp| from < at && at <= until;
    let came_within =
        |history: &History<T>| history.origin != Origin::Listed && is_lost(history.versions[0].at);
    histories.retain(|history| !(came_within(history) && history.deleted.is_some_and(is_lost)));
    for history in histories {
        if came_within(history) {
            history.origin = Origin::Relisted;
        }
        history.deleted = history
            .deleted
            .map(|deleted| if is_lost(deleted) { until } else { deleted });
        let versions = &mut history.versions;
        let Some(last) = versions.iter().rposition(|version| is_lost(version.at)) else {
            continue;
        };
        let first = versions.partition_point(|version| version.at <= from);
        versions[last].at = until;
        versions.drain(first..last);
    }
}

/// A fault of the hub may make a verdict inconclusive, never wrong: what is not found in all that happened is not found in
/// part of it either.
#[test]
fn a_gap_breaks_no_rule() {
    let mut asked = 0;
    let mut broken = BTreeSet::new();
    for (rule, example) in examples().filter(|(_, example)| example.evidence().driver.is_none()) {
        let evidence = example.evidence();
        let Some(window) = evidence.header.window else {
            continue;
        };
        if finds(rule, evidence) {
            continue;
        }
        let changes = events(&evidence.profiles).chain(events(&evidence.slices));
        let starts: BTreeSet<Timestamp> = changes
            .flat_map(|at| [-500, 0, 20_000].map(|after| at + SignedDuration::from_millis(after)))
            .filter(|from| (window.from..window.until).contains(from))
            .collect();
        for from in starts {
            for seconds in INTERRUPTIONS {
                let until = (from + SignedDuration::from_secs(seconds)).min(window.until);
                if finds(rule, &interrupted(evidence, from, until)) {
                    broken.insert((rule.id, example.name.clone()));
                }
                asked += 1;
            }
        }
    }
    let known = NO_LOSS.map(|(rule, example)| (rule, example.to_owned()));
    assert_eq!(broken, BTreeSet::from(known));
    assert!(asked > 10_000, "{asked} judgements");
}
