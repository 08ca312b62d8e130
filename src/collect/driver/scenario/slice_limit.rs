//! A decision grows past what a slice holds, and shrinks again.

use evidence::{DriverAction, Scenario, api::names::LARGEST_SLICE};

use super::{
    placement::members_that_are_well,
    scale::{join_many, leave_all},
};
use crate::driver::{
    plan::{Fleet, Scale},
    scenario_placement::ScenarioPlacement,
    session::Session,
};

/// How many clusters do not fit into one slice.
const TOO_MANY: usize = LARGEST_SLICE + 1;

/// The scenario. Where there are not enough members, stand-ins join.
pub(super) async fn slice_limit(session: &Session<'_>) {
    let lacking = TOO_MANY.saturating_sub(members_that_are_well(session));
    let mut joined = Vec::new();
    if lacking > 0 && may_join(session) {
        let scale = Scale {
            members: lacking,
            ..session.plan.scale.unwrap_or_default()
        };
        joined = join_many(session, Scenario::SliceLimit, scale).await;
    }
    let mut placement = ScenarioPlacement::new(session, Scenario::SliceLimit);
    let well = members_that_are_well(session);
    if well < TOO_MANY {
        let step = placement.begin(session, DriverAction::Place);
        session.skip_step(
            step,
            format!(
                "{well} profiles are joined and healthy, and a second slice takes {TOO_MANY} clusters: with the hooks \
                 `join` and `leave`, stand-ins join"
            ),
        );
    } else {
        // What it never reached it cannot leave.
        if placement.place(session, LARGEST_SLICE).await && placement.reschedule(session, TOO_MANY).await {
            placement.reschedule(session, LARGEST_SLICE).await;
        }
        placement.unplace(session).await;
    }
    leave_all(session, joined).await;
}

/// Whether members cost nothing, and can join.
fn may_join(session: &Session<'_>) -> bool {
    matches!(session.plan.fleet, Fleet::StandIns(_))
        && session
            .capabilities
            .support(&[DriverAction::Join, DriverAction::Leave])
}
