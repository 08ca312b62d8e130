//! What comes of a placement: clusters, none, and nothing when it is taken back.

use evidence::{DriverAction, Evidence, Scenario, StepOutcome, api::PlacementDecision};

use super::answer::{Request, count_of, requests};
use crate::rules::{
    finding::{Finding, Findings},
    text::{counted, redacted},
};

/// `placement-lifecycle/placed`
///
/// A request for clusters gets slices.
///
/// A scheduler may find fewer clusters that fit than a hook has asked for, so their number is only a hint.
pub(in crate::rules) fn placed(evidence: &Evidence, findings: &mut Findings) {
    for request in requests(evidence, findings, Scenario::Placement, DriverAction::Place) {
        request.judge(
            findings,
            request.step.from,
            &counted(request.placement.clusters, "cluster"),
            |slices| request.placement.is_met_by(slices),
            |slices| match slices {
                [] => {
                    let message = "a request for clusters has no decision";
                    let finding = Finding::on(request.object(slices), message).at("decisions");
                    // Without a cluster to select, no slice is right.
                    match request.members_that_stay_well().next() {
                        Some(_) => finding,
                        None => finding.advisory(),
                    }
                }
                _ => request.other_clusters(slices),
            },
        );
    }
}

/// `placement-lifecycle/none-selected`
///
/// A decision names no cluster any more when none satisfies its request.
pub(in crate::rules) fn none_selected(evidence: &Evidence, findings: &mut Findings) {
    for request in requests(evidence, findings, Scenario::Placement, DriverAction::Reschedule) {
        request.judge(
            findings,
            request.step.from,
            "no cluster",
            |slices| count_of(slices) == 0,
            |slices| {
                let message = "a decision keeps clusters though none is asked for";
                Finding::on(request.object(slices), message).at("decisions")
            },
        );
    }
}

/// `placement-lifecycle/unplaced`
///
/// No slice is left of a placement that was taken back.
///
/// A slice with an owner may be left to the hub's garbage collector, which may be absent, so it is only a hint.
pub(in crate::rules) fn unplaced(evidence: &Evidence, findings: &mut Findings) {
    let mut all = requests(evidence, findings, Scenario::Placement, DriverAction::Unplace);
    let steps = evidence.driver.iter();
    let steps = steps.flat_map(|driver| driver.steps_of(DriverAction::Unplace));
    let others =
        steps.filter(|step| step.scenario != Scenario::Placement && step.outcome == StepOutcome::Done);
    all.extend(others.filter_map(|step| Request::of(evidence, step)));
    for request in all {
        if request.slices.histories.is_empty() {
            let name = redacted(&request.placement.name);
            findings.cannot_tell(format!("no slice of {name} was ever seen"));
            continue;
        }
        request.judge(
            findings,
            request.step.from,
            "no slice",
            |slices| slices.is_empty(),
            |slices| {
                let has_owner = |slice: &&PlacementDecision| !slice.metadata.owner_references.is_empty();
                let message = "a slice is left of a placement that was taken back";
                let finding = Finding::on(request.object(slices), message).at("metadata.name");
                if slices.iter().all(has_owner) {
                    finding.advisory()
                } else {
                    finding
                }
            },
        );
    }
}
