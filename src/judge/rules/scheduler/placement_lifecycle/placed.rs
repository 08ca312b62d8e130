//! What comes of a placement: clusters, none, and nothing when it is taken back.

use evidence::{DriverAction, Evidence, Scenario, StepOutcome, api::PlacementDecision};

use super::answer::{Request, count_of, requests};
use crate::{
    shared::{
        answer::{did, to_the_second},
        placement::RESCHEDULE,
    },
    subjects::{Finding, Findings},
    text::{counted, redacted},
};

/// `placement-lifecycle/placed`
///
/// A request for clusters gets slices.
///
/// A scheduler may find fewer clusters that fit than a hook has asked for, so their number is only a hint.
pub(in crate::rules) fn placed(evidence: &Evidence, findings: &mut Findings) {
    let all = requests(evidence, findings, Scenario::Placement, DriverAction::Place);
    for request in all.into_iter().chain(elsewhere(evidence, DriverAction::Place)) {
        request.judge(
            findings,
            request.step.from,
            &counted(request.placement.clusters, "cluster"),
            |slices| request.placement.is_met_by(slices),
            |slices| match slices {
                [] => {
                    let message = "a request for clusters has no decision";
                    let finding = Finding::on(request.object(slices), message).at("decisions");
                    // Without a cluster to select, no slice is right, and a scheduler may refuse so many clusters.
                    let is_large = request.step.scenario == Scenario::SliceLimit;
                    match request.members_that_stay_well().next() {
                        Some(_) if !is_large => finding,
                        _ => finding.advisory(),
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
    let all = requests(evidence, findings, Scenario::Placement, DriverAction::Unplace);
    for request in all.into_iter().chain(elsewhere(evidence, DriverAction::Unplace)) {
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
                left(
                    &request,
                    slices,
                    "a slice is left of a placement that was taken back",
                )
            },
        );
        came_back(&request, findings);
    }
}

/// The finding on slices that are there after the end of their placement: a warning if each may be left to the garbage
/// collector.
fn left(request: &Request, slices: &[&PlacementDecision], message: &str) -> Finding {
    let is_collected = |slice: &&PlacementDecision| !slice.metadata.owner_references.is_empty();
    let finding = Finding::on(request.object(slices), message).at("metadata.name");
    if slices.iter().all(is_collected) {
        finding.advisory()
    } else {
        finding
    }
}

/// Reports slices that are there when the run ends though all were gone before. The scheduler may be about to delete them
/// again.
fn came_back(request: &Request, findings: &mut Findings) {
    let Some((at, slices, stayed)) = request.last_return() else {
        return;
    };
    if stayed <= RESCHEDULE {
        return findings.cannot_tell(format!(
            "too early to tell: slices came back after {}, shortly before the run ended",
            did(request.step)
        ));
    }
    let message = "a slice comes back after its placement was taken back";
    findings.report(
        left(request, &slices, message)
            .expected(format!("no slice after {}", did(request.step)))
            .observed(format!(
                "{} since {}",
                counted(slices.len(), "slice"),
                to_the_second(at)
            )),
    );
}

/// The executed steps of one action in the other scenarios, each with the slices of its placement.
fn elsewhere(evidence: &Evidence, action: DriverAction) -> impl Iterator<Item = Request<'_>> {
    let steps = evidence
        .driver
        .iter()
        .flat_map(move |driver| driver.steps_of(action));
    let others =
        steps.filter(|step| step.scenario != Scenario::Placement && step.outcome == StepOutcome::Done);
    others.filter_map(|step| Request::of(evidence, step))
}
