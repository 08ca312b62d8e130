//! A scheduler is asked for a few clusters, and then for none. In between, the run tampers with the slices.

use evidence::{DriverAction, Scenario, StepOutcome, api::Api};

use super::tampering::called;
use crate::{
    call::Failure,
    driver::{answers, scenario_placement::ScenarioPlacement, session::Session},
};

/// How many clusters are asked for, where there are as many.
const FEW: usize = 3;

/// The scenario.
pub(super) async fn placement(session: &Session<'_>) {
    with_placement(session, Scenario::Placement, async |placement, placed| {
        if !placed {
            return;
        }
        for action in [DriverAction::DeleteSlice, DriverAction::EmptySlice] {
            if session.capabilities.support(&[action]) {
                tamper(session, placement, action).await;
            }
        }
        if session.capabilities.support(&[DriverAction::Reschedule]) {
            placement.reschedule(session, 0).await;
        }
    })
    .await;
}

/// Asks for a few clusters, runs `body` with whether there are slices for them, and takes the request back.
pub(super) async fn with_placement(
    session: &Session<'_>,
    scenario: Scenario,
    body: impl AsyncFnOnce(&mut ScenarioPlacement, bool),
) {
    let mut placement = ScenarioPlacement::new(session, scenario);
    let clusters = members_that_are_well(session).min(FEW);
    if clusters == 0 {
        let step = placement.begin(session, DriverAction::Place);
        session.skip_step(
            step,
            "no profile is joined and healthy, so there is no cluster to ask for",
        );
        return;
    }
    let placed = placement.place(session, clusters).await;
    body(&mut placement, placed).await;
    placement.unplace(session).await;
}

/// How many clusters a scheduler may select.
pub(super) fn members_that_are_well(session: &Session<'_>) -> usize {
    let scope = &session.context.plan.scope;
    let record = session.record();
    let there = record.after(0).iter().filter_map(|history| history.current());
    there
        .filter(|profile| scope.holds(profile) && answers::is_well(profile))
        .count()
}

/// Deletes a slice, or takes its clusters out, and waits until the decision is as before.
async fn tamper(session: &Session<'_>, placement: &ScenarioPlacement, action: DriverAction) {
    let mut step = placement.begin(session, action);
    let Some(slice) = placement.take_slice(session) else {
        session.skip_step(
            step,
            "no slice was found that the scheduler made for the placement",
        );
        return;
    };
    step.slice = Some(slice.clone());
    let outcome: Result<(), Failure> = match action {
        DriverAction::DeleteSlice => session.writes.delete(Api::Placement, &slice).await,
        _ => match session.writes.empty(&slice).await {
            Ok(version) => {
                let seen = &session.context.slices;
                session.delivered(seen, &slice.uid, &version).await;
                Ok(())
            }
            Err(failure) => Err(failure),
        },
    };
    session.did(&mut step, called(outcome));
    if step.outcome == StepOutcome::Done {
        let deletes = action == DriverAction::DeleteSlice;
        placement
            .look(session, &mut step, |slices| {
                let is_old = slices.iter().any(|known| *known.metadata.uid == *slice.uid);
                placement.is_met_by(slices) && !(deletes && is_old)
            })
            .await;
    }
    session.end(step);
}
