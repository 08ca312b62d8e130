//! Slices of other schedulers.

use std::collections::BTreeSet;

use evidence::{DriverAction, Evidence, SliceHistory, api::PlacementDecision, runs::is_slice_of_other_run};

use super::writers::publishers;
use crate::rules::{
    answer::{Foreigners, untouched},
    finding::Findings,
    logged::{Judged as _, creates, key_of},
    placement::may_publish,
};

/// `placement-ownership/foreign-decisions-untouched`
///
/// The scheduler does not change or delete slices of other schedulers.
///
/// The scheduler is identified by the field managers and users that write the judged slices. A change by anyone else is
/// only a warning, and so is one by an unknown author where several schedulers, or none, write slices.
pub(in crate::rules) fn foreign_decisions_untouched(evidence: &Evidence, findings: &mut Findings) {
    untouched(
        evidence,
        findings,
        &Foreigners {
            action: DriverAction::PutForeignSlice,
            object: |step| step.slice.as_ref(),
            is_only_producer: is_only_producer(evidence),
            theirs: publishers,
            publishes: |request| creates(request) || may_publish(request),
            changed,
            message_changed: "a slice of another scheduler was changed",
            message_deleted: "a slice of another scheduler was deleted",
        },
    );
}

/// Whether all slices are one scheduler's. Those that name none may be several programs'.
fn is_only_producer(evidence: &Evidence) -> bool {
    let schedulers = schedulers(evidence);
    schedulers.len() == 1 && (!schedulers.contains("") || publishers(evidence).len() == 1)
}

/// The schedulers that slices name, but for those that this run or another one touched.
fn schedulers(evidence: &Evidence) -> BTreeSet<&str> {
    let own = evidence.driver.as_ref().map(|driver| driver.run.as_str());
    let is_touched = |history: &&SliceHistory| {
        PlacementDecision::is_touched(evidence, key_of::<PlacementDecision>(history))
            || is_slice_of_other_run(history.last(), own)
    };
    let histories = evidence.slices.iter().filter(|history| !is_touched(history));
    let versions = histories.flat_map(|history| &history.versions);
    versions.map(|version| version.object.scheduler()).collect()
}

/// The part in which two versions differ. A hub may rewrite a slice in storage without a change.
fn changed(before: &PlacementDecision, after: &PlacementDecision) -> Option<&'static str> {
    let (was, is) = (&before.metadata, &after.metadata);
    if before.decisions != after.decisions {
        Some("decisions")
    } else if before.scheduler_name != after.scheduler_name {
        Some("schedulerName")
    } else if was.labels != is.labels {
        Some("metadata.labels")
    } else if was.owner_references != is.owner_references {
        Some("metadata.ownerReferences")
    } else if was.finalizers != is.finalizers {
        Some("metadata.finalizers")
    } else if was.writers != is.writers {
        Some("metadata")
    } else {
        None
    }
}
