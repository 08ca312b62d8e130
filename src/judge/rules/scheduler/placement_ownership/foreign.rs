//! Slices of other schedulers.

use evidence::{DriverStep, api::PlacementDecision};

use crate::engine::{Answer, Hub, Untouched};

/// `placement-ownership/foreign-decisions-untouched`
///
/// The scheduler neither changes nor deletes the run's slice of another scheduler.
pub(in crate::rules) fn foreign_decisions_untouched(taken: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched {
        changed,
        message_changed: "a slice of another scheduler was changed",
        message_deleted: "a slice of another scheduler was deleted",
    };
    untouched.judge_created(hub, taken, taken.slice.as_ref())
}

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
    } else {
        None
    }
}
