//! A scheduler is asked for a few clusters, and then for none. In between, the run tampers with the slices.

use evidence::{DriverAction, Scenario, StepOutcome, api::ObjectKind};

use super::{
    scale::{join_many, leave_all},
    tampering::called,
};
use crate::{
    connect::failure::Failure,
    driver::{
        answers,
        plan::{Fleet, Scale},
        scenario_placement::ScenarioPlacement,
        session::Session,
    },
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

/// Asks for a few clusters, runs `body` with whether there are slices for them, and takes the request back. Returns `false`
/// if there is no member to ask for.
pub(super) async fn with_placement(
    session: &Session<'_>,
    scenario: Scenario,
    body: impl AsyncFnOnce(&mut ScenarioPlacement, bool),
) -> bool {
    with_members(session, scenario, 1, async |placement, well| {
        let placed = placement.place(session, well.min(FEW)).await;
        body(placement, placed).await;
    })
    .await
}

/// Runs `body` with a placement that is not requested yet, and with how many members there are: at least `needed`.
/// Stand-ins join where there are fewer. Takes the placement back. Returns `false` if there are still too few.
pub(super) async fn with_members(
    session: &Session<'_>,
    scenario: Scenario,
    needed: usize,
    body: impl AsyncFnOnce(&mut ScenarioPlacement, usize),
) -> bool {
    let lacking = needed.saturating_sub(members_that_are_well(session));
    let mut joined = Vec::new();
    if lacking > 0 && may_join(session) {
        let scale = Scale {
            members: lacking,
            ..session.plan.scale.unwrap_or_default()
        };
        joined = join_many(session, scenario, scale).await;
    }
    let mut placement = ScenarioPlacement::new(session, scenario);
    let well = members_that_are_well(session);
    if well < needed {
        let step = placement.begin(session, DriverAction::Place);
        session.skip_step(
            step,
            format!(
                "{well} profiles are joined and healthy, and {needed} are needed: with the hooks `join` and `leave`, \
                 stand-ins join"
            ),
        );
    } else {
        body(&mut placement, well).await;
        placement.unplace(session).await;
    }
    leave_all(session, joined).await;
    well >= needed
}

/// Whether members cost nothing, and can join.
fn may_join(session: &Session<'_>) -> bool {
    matches!(session.plan.fleet, Fleet::StandIns(_))
        && session
            .capabilities
            .support(&[DriverAction::Join, DriverAction::Leave])
}

/// How many clusters a scheduler may select.
fn members_that_are_well(session: &Session<'_>) -> usize {
    let scope = session.context.scope;
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
        DriverAction::DeleteSlice => session.writes.delete(ObjectKind::PlacementDecision, &slice).await,
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
