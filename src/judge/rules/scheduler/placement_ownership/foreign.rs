//! Slices of other schedulers.

use evidence::{DriverStep, SliceHistory, api::PlacementDecision};

use crate::engine::{Answer, Guarded, Hub, Untouched};

/// `placement-ownership/foreign-decisions-untouched`
///
/// The scheduler neither changes nor deletes the run's slice of another scheduler.
pub(in crate::rules) fn foreign_decisions_untouched(taken: &DriverStep, hub: &Hub) -> Answer {
    let Some(object) = &taken.slice else {
        return Answer::Unknown("the object that the run created is unknown".into());
    };
    let is_named = |life: &&SliceHistory| {
        let metadata = &life.last().metadata;
        *metadata.namespace == *object.namespace && *metadata.name == *object.name
    };
    let lives: Vec<&SliceHistory> = hub.evidence.slices.iter().filter(is_named).collect();
    if lives.is_empty() {
        return Answer::Unknown(format!("the watch never showed {object}").into());
    }
    let untouched = Untouched {
        changed,
        message_changed: "a slice of another scheduler was changed",
        message_deleted: "a slice of another scheduler was deleted",
    };
    let guarded = Guarded {
        lives: &lives,
        from: taken.until.as_microsecond(),
        is_created_by_run: true,
        until: None,
    };
    untouched.judge(hub, taken, &[guarded])
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
