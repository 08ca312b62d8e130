//! What a scheduler publishes in a slice, and the finding on others that write it.

use std::collections::BTreeSet;

use evidence::{ObjectRef, api::PlacementDecision};
use jiff::Timestamp;

use crate::{
    subjects::Finding,
    who::{Tally, logged::Judged as _},
};

/// The finding on a slice that others than its scheduler write.
pub(super) fn by_others(slice: ObjectRef, own: &str, others: &Tally, first: Timestamp) -> Finding {
    Finding::on(slice, "a slice is written by others than its scheduler")
        .expected(format!("writes by {own} alone"))
        .observed(format!("{others}, first at {first}"))
}

/// Whether two versions of a slice differ in what a scheduler publishes.
pub(super) fn publish_otherwise(before: &PlacementDecision, after: &PlacementDecision) -> bool {
    let labels = |slice: &PlacementDecision| -> Vec<(String, String)> {
        let labels = slice.metadata.labels.iter();
        labels
            .filter(|(key, _)| PlacementDecision::is_published(&format!("metadata.labels[{key}]")))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    before.decisions != after.decisions
        || before.scheduler_name != after.scheduler_name
        || labels(before) != labels(after)
}

/// The parts that a scheduler publishes, and in which two versions of a slice differ.
pub(super) fn changed_parts(before: &PlacementDecision, after: &PlacementDecision) -> BTreeSet<String> {
    let parts = [
        ("decisions", before.decisions != after.decisions),
        ("schedulerName", before.scheduler_name != after.scheduler_name),
        ("metadata.labels", before.metadata.labels != after.metadata.labels),
    ];
    let changed = parts.into_iter().filter(|(_, differ)| *differ);
    changed.map(|(part, _)| part.to_owned()).collect()
}
