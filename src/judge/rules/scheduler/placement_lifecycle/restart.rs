//! Slices after a restart of the scheduler.

use std::collections::BTreeMap;

use evidence::{DriverAction, DriverStep, PlacementRequest, Scenario, SliceHistory, api::PlacementDecision};

use crate::engine::{Answer, Guarded, Hub, Untouched, describe};

/// `placement-lifecycle/restart-keeps`
///
/// Each slice of the run's placement keeps its uid and its list of clusters, in order, while the scheduler restarts.
pub(in crate::rules) fn restart_keeps(taken: &DriverStep, hub: &Hub) -> Answer {
    let untouched = Untouched::<PlacementDecision> {
        changed: |before, after| (before.decisions != after.decisions).then_some("decisions"),
        message_changed: "a slice was rewritten when the scheduler restarted",
        message_deleted: "a slice was deleted when the scheduler restarted",
    };
    let Some(placement) = placement_over(hub, taken) else {
        return Answer::NotApplicable;
    };
    let names = slices_before(hub, taken, placement);
    let until = taken_back(hub, placement);
    let guarded: Vec<Guarded<PlacementDecision>> = names
        .values()
        .map(|lives| Guarded {
            lives,
            from: taken.from.as_microsecond(),
            is_created_by_run: false,
            until,
        })
        .collect();
    match untouched.judge(hub, taken, &guarded) {
        Answer::NotApplicable => {
            Answer::Unknown(format!("there was no slice before {}", describe(taken)).into())
        }
        answer => answer,
    }
}

/// The placement that the run keeps over the restart.
fn placement_over<'e>(hub: &Hub<'e>, taken: &DriverStep) -> Option<&'e PlacementRequest> {
    let steps = hub.evidence.driver_steps();
    let before = steps.filter(|step| step.scenario == Scenario::Restart && step.from < taken.from);
    before.rev().find_map(|step| step.placement.as_ref())
}

/// The slices of a placement that existed before an action, by namespace and name.
fn slices_before<'e>(
    hub: &Hub<'e>,
    taken: &DriverStep,
    placement: &'e PlacementRequest,
) -> BTreeMap<(&'e str, &'e str), Vec<&'e SliceHistory>> {
    let slices = placement.slices(&hub.evidence.slices, &hub.evidence.header.scope);
    let mut names: BTreeMap<(&str, &str), Vec<&SliceHistory>> = BTreeMap::new();
    for history in &slices.histories {
        let metadata = &history.last().metadata;
        names
            .entry((&metadata.namespace, &metadata.name))
            .or_default()
            .push(history);
    }
    let existed = |history: &&SliceHistory| {
        let seen = history
            .versions
            .iter()
            .take_while(|version| version.received() < taken.from);
        let is_deleted = history.deleted.is_some_and(|deleted| deleted < taken.from);
        let last = seen.last().filter(|_| !is_deleted);
        last.is_some_and(|version| version.object.metadata.deletion_timestamp.is_none())
    };
    names.retain(|_, lives| lives.iter().any(existed));
    names
}

/// When the run takes a placement back.
fn taken_back(hub: &Hub, placement: &PlacementRequest) -> Option<i64> {
    let driver = hub.evidence.driver.as_ref()?;
    let mut steps = driver.steps_of(DriverAction::Unplace);
    let unplace = steps.find(|step| {
        let request = step.placement.as_ref();
        request.is_some_and(|request| request.name == placement.name)
    })?;
    Some(unplace.from.as_microsecond())
}
