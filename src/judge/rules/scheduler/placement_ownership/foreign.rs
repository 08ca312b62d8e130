//! Slices of other schedulers.

use evidence::{DriverAction, Evidence, api::PlacementDecision};

use crate::{
    shared::answer::{Foreigners, untouched},
    subjects::Findings,
};

/// `placement-ownership/foreign-decisions-untouched`
///
/// The scheduler does not change or delete slices of other schedulers.
///
/// It is known by the users and field managers that the user named. A change by anyone else, or by an unknown author, is
/// only a warning.
pub(in crate::rules) fn foreign_decisions_untouched(evidence: &Evidence, findings: &mut Findings) {
    untouched(
        evidence,
        findings,
        &Foreigners {
            action: DriverAction::PutForeignSlice,
            object: |step| step.slice.as_ref(),
            changed,
            message_changed: "a slice of another scheduler was changed",
            message_deleted: "a slice of another scheduler was deleted",
        },
    );
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
