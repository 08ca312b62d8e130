//! The rules' examples as they were at each moment.

use std::collections::BTreeSet;

use evidence::{Evidence, History};
use jiff::{SignedDuration, Timestamp};

/// When to look after something has happened, in seconds.
const AFTER: [i64; 12] = [0, 1, 5, 10, 31, 59, 61, 90, 119, 121, 299, 301];

pub fn events<T>(histories: &[History<T>]) -> impl Iterator<Item = Timestamp> {
    histories.iter().flat_map(|history| {
        let versions = history.versions.iter().filter_map(|version| version.at);
        versions.chain(history.deleted)
    })
}

/// The moments at which something happens to an object, some in between, and some after the last.
pub fn moments(evidence: &Evidence) -> Vec<Timestamp> {
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
