//! Slices after tampering.

use evidence::{DriverAction, Evidence, Scenario, api::PlacementDecision};
use jiff::{SignedDuration, Timestamp};

use super::answer::{Request, count_of, requests};
use crate::{
    shared::answer::did,
    subjects::{Finding, Findings},
};

/// `placement-lifecycle/restored`
///
/// The scheduler restores a slice that somebody else deleted or emptied.
///
/// The clusters may be others than before, and fewer: one may have failed meanwhile.
pub(in crate::rules) fn restored(evidence: &Evidence, findings: &mut Findings) {
    for action in [DriverAction::DeleteSlice, DriverAction::EmptySlice] {
        for request in requests(evidence, findings, Scenario::Placement, action) {
            let seen = match tampering(&request) {
                Ok(seen) => seen,
                Err(reason) => {
                    findings.cannot_tell(reason);
                    continue;
                }
            };
            let left = count_without(&request, seen);
            request.judge(
                findings,
                seen,
                "the clusters of the slice",
                |slices| count_of(slices) > left,
                |slices| Finding::on(request.object(slices), message(action)).at("decisions"),
            );
        }
    }
}

fn message(action: DriverAction) -> &'static str {
    match action {
        DriverAction::DeleteSlice => "a slice that somebody else deleted is not restored",
        _ => "a slice that somebody else emptied is not restored",
    }
}

/// How many clusters the decision had just before the tampering, beside those of the slice. The answer may have the time
/// of the tampering, if the watch brought both together.
fn count_without(request: &Request<'_>, seen: Timestamp) -> usize {
    let before = seen.saturating_sub(SignedDuration::from_micros(1));
    let mut slices = request.slices_at(before.unwrap_or(Timestamp::MIN));
    let tampered = request.step.slice.as_ref().map(|slice| slice.name.as_str());
    slices.retain(|slice| Some(&*slice.metadata.name) != tampered);
    count_of(&slices)
}

/// When the watch showed the run's write, or why it did not.
fn tampering(request: &Request<'_>) -> Result<Timestamp, String> {
    let step = request.step;
    let unseen = || format!("the watch did not show what {} wrote", did(step));
    let slice = step.slice.as_ref().ok_or_else(unseen)?;
    let mut histories = request.slices.histories.iter();
    if step.action == DriverAction::DeleteSlice {
        let history = histories.find(|history| *history.last().metadata.uid == *slice.uid);
        let history = history.ok_or_else(unseen)?;
        return history.deleted.filter(|at| *at >= step.from).ok_or_else(|| {
            if is_going(history.last()) {
                format!("a finalizer keeps the slice after {}", did(step))
            } else {
                unseen()
            }
        });
    }
    let named = histories.filter(|history| *history.last().metadata.name == *slice.name);
    let versions = named.flat_map(|history| &history.versions);
    let empty =
        versions.filter(|version| version.received() >= step.from && version.object.clusters().is_empty());
    empty.map(|version| version.received()).min().ok_or_else(unseen)
}

fn is_going(slice: &PlacementDecision) -> bool {
    slice.metadata.deletion_timestamp.is_some()
}
