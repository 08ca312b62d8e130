//! What is left of a placement that was taken back.

use evidence::{Reason, SliceHistory, api::PlacementDecision};

use crate::{
    engine::{Answer, PlacementStep, SliceState, describe, to_the_second},
    subjects::Finding,
    text::{counted, redacted},
    time::timestamp,
    timeline::Certainty,
};

/// `placement-lifecycle/unplaced`
///
/// No slice is left of a request that was taken back, and none comes back.
pub(in crate::rules) fn unplaced(step: &PlacementStep) -> Answer {
    if step.histories.is_empty() {
        let name = redacted(&step.request.name);
        return Answer::Unknown(format!("no slice of {name} was ever seen").into());
    }
    let message = "a slice is left of a placement that was taken back";
    let deleted = step.expect(
        "no slice",
        |slices| step.published(slices).is_empty(),
        |slices| left(step, &step.published(slices), message),
    );
    deleted.and(came_back(step))
}

/// The finding on slices that are left: a warning if the garbage collector may still delete each of them.
fn left(step: &PlacementStep, slices: &[&PlacementDecision], message: &str) -> Result<Finding, Reason> {
    if let Some(reason) = step.unknown_publisher(slices) {
        return Err(reason);
    }
    let finding = Finding::on(step.object(slices), message).at("metadata.name");
    let are_collected = slices.iter().all(|slice| has_owner_of_request(step, slice));
    Ok(if are_collected {
        finding.advisory()
    } else {
        finding
    })
}

/// Whether an owner of a slice may be the request. The hub may have no garbage collector, for example in envtest.
///
/// An owner that had slices before the run asked for the placement is not the request.
fn has_owner_of_request(step: &PlacementStep, slice: &PlacementDecision) -> bool {
    let began = step
        .histories
        .iter()
        .map(|history| history.versions[0].received())
        .min();
    let is_earlier = |history: &&SliceHistory| Some(history.versions[0].received()) < began;
    let owns = |history: &SliceHistory, uid: &str| {
        let owners = &history.first().metadata.owner_references;
        owners.iter().any(|owner| *owner.uid == *uid)
    };
    let mut owners = slice.metadata.owner_references.iter();
    owners.any(|owner| {
        let mut earlier = step.hub.evidence.slices.iter().filter(is_earlier);
        !earlier.any(|history| owns(history, &owner.uid))
    })
}

/// Slices that are there again after all of them were deleted.
fn came_back(step: &PlacementStep) -> Answer {
    let is_gone = |state: &&SliceState| step.published(&state.slices).is_empty();
    let done = step.taken.until.as_microsecond();
    let Some(gone) = step.states_until_next(done).find(is_gone) else {
        return Answer::Kept;
    };
    let again = step.states_until_next(gone.seen_at).find(|state| !is_gone(state));
    let Some(again) = again else { return Answer::Kept };
    match step.lasted(gone.seen_at, |slices| !step.published(slices).is_empty()) {
        Certainty::No => return Answer::Kept,
        Certainty::Unknown(reason) => return Answer::Unknown(reason),
        Certainty::Yes => {}
    }
    let message = "a slice comes back after its placement was taken back";
    let slices = step.published(&again.slices);
    let (count, since) = (
        counted(slices.len(), "slice"),
        to_the_second(timestamp(again.seen_at)),
    );
    match left(step, &slices, message) {
        Ok(finding) => Answer::all([finding
            .expected(format!("no slice after {}", describe(step.taken)))
            .observed(format!("{count} since {since}"))]),
        Err(reason) => Answer::Unknown(reason),
    }
}
