//! The scheduler that a slice names.

use evidence::api::PlacementDecision;

use crate::{
    engine::{Answer, Change, Hub},
    subjects::Finding,
    text::ABSENT,
};

/// `placement-labels/scheduler-named`
pub(in crate::rules) fn scheduler_named(slice: &PlacementDecision, _: &Hub) -> Answer {
    Answer::broken_if(slice.scheduler().is_empty(), || {
        Finding::at_path("schedulerName", "the slice does not name its scheduler")
            .expected("the name of the scheduler that writes the slice")
            .observed(slice.scheduler_name.as_deref().unwrap_or(ABSENT))
    })
}

/// `placement-labels/scheduler-stable`
pub(in crate::rules) fn scheduler_stable(change: &Change<'_, '_, PlacementDecision>, _: &Hub) -> Answer {
    let Some((before, after)) = change.both() else {
        return Answer::NotApplicable;
    };
    let (old, new) = (before.scheduler(), after.scheduler());
    // A name that is set later is no change.
    Answer::broken_if(!old.is_empty() && old != new, || {
        Finding::at_path("schedulerName", "the scheduler of the slice was changed")
            .expected(old)
            .observed(if new.is_empty() { ABSENT } else { new })
    })
}
