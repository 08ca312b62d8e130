//! The scenarios and their order. Those that do not disturb each other run side by side.

mod foreigner;
mod outage;
mod placement;
mod restart;
mod scale;
mod slice_limit;
mod tampering;
mod upgrade;
mod with_member;

use evidence::{
    DriverAction, Scenario,
    api::{ObjectKind, Role},
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use tokio::sync::watch;

use self::with_member::with_member;
use super::session::Session;

/// Runs all scenarios that the run can do.
pub(super) async fn all(session: &Session<'_>) {
    let (tell_others, others) = watch::channel(false);
    let (tell_all, all) = watch::channel(false);
    let first = async {
        let mut scenarios = side_by_side(session);
        scenarios.extend(on_placements(session));
        join_all(scenarios).await;
        let _ = tell_others.send(true);
    };
    // Members come and go meanwhile; a restart would disturb that.
    let last = async {
        futures::join!(first, restart::restart(session, others));
        let _ = tell_all.send(true);
    };
    futures::join!(
        last,
        foreigner::foreigner(session, ObjectKind::ClusterProfile, all.clone()),
        foreigner::foreigner(session, ObjectKind::PlacementDecision, all),
    );
}

/// The scenarios that do not disturb each other.
fn side_by_side<'a>(session: &'a Session<'_>) -> Vec<BoxFuture<'a, ()>> {
    let mut scenarios = Vec::new();
    if !session.judges(Role::Manager) {
        return scenarios;
    }
    let mut add = |needs: &[DriverAction], scenario: BoxFuture<'a, ()>| {
        if session.capabilities.support(needs)
            && session
                .capabilities
                .support(&[DriverAction::Join, DriverAction::Leave])
        {
            scenarios.push(scenario);
        }
    };
    add(&[], join_and_leave(session).boxed());
    add(
        &[DriverAction::Break, DriverAction::Heal],
        outage::outage(session).boxed(),
    );
    add(&[DriverAction::Upgrade], upgrade::upgrade(session).boxed());
    add(
        &[DriverAction::DeleteProfile],
        tampering::delete_profile(session).boxed(),
    );
    for action in [
        DriverAction::TamperStatus,
        DriverAction::RemoveLabel,
        DriverAction::SetDisplayName,
    ] {
        add(&[action], tampering::change_field(session, action).boxed());
    }
    if let Some(scale) = session.plan.scale {
        add(&[], scale::scale(session, scale).boxed());
    }
    scenarios
}

/// The scenarios of placements.
fn on_placements<'a>(session: &'a Session<'_>) -> Vec<BoxFuture<'a, ()>> {
    let mut scenarios = Vec::new();
    if session.capabilities.support(&[DriverAction::Place]) {
        scenarios.push(placement::placement(session).boxed());
        if session.capabilities.support(&[DriverAction::Reschedule]) {
            scenarios.push(slice_limit::slice_limit(session).boxed());
        }
    }
    scenarios
}

/// A member joins, and leaves.
async fn join_and_leave(session: &Session<'_>) {
    with_member(session, Scenario::JoinAndLeave, async |_, _| {}).await;
}
