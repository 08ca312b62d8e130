//! The implementation restarts, with a member and a placement of the run's own among those that it keeps.

use evidence::{DriverAction, Scenario, api::Role};
use tokio::sync::watch;

use super::{placement::with_placement, with_member::with_member};
use crate::driver::{hooks::Call, scenario_placement::ScenarioPlacement, session::Session};

/// The scenario. The restart comes when the others are over: it would disturb them.
pub(super) async fn restart(session: &Session<'_>, mut others_are_over: watch::Receiver<bool>) {
    if !session.capabilities.support(&[DriverAction::Restart]) {
        return;
    }
    let mut wait = async || {
        // The sender is gone if the run goes down.
        let _ = others_are_over.wait_for(|over| *over).await;
    };
    let joins = session.judges(Role::Manager) && session.capabilities.support(&[DriverAction::Join]);
    if !joins {
        wait().await;
        return restart_with_placement(session).await;
    }
    // Of a few members, none is kept from the others meanwhile.
    if !session.pool.is_unlimited() {
        wait().await;
    }
    with_member(session, Scenario::Restart, async |_, _| {
        wait().await;
        restart_with_placement(session).await;
    })
    .await;
}

async fn restart_with_placement(session: &Session<'_>) {
    let restart = async |_: &mut ScenarioPlacement, _| restart_now(session).await;
    let places = session.capabilities.support(&[DriverAction::Place]);
    // Without a member there is no placement.
    if !(places && with_placement(session, Scenario::Restart, restart).await) {
        restart_now(session).await;
    }
}

async fn restart_now(session: &Session<'_>) {
    let mut step = session.begin(Scenario::Restart, DriverAction::Restart, "", None);
    let call = Call::of(DriverAction::Restart);
    let called = session.call(call, session.stop.clone()).await;
    session.did(&mut step, called);
    // That nothing happens is seen at the end alone.
    session.look(&mut step, |_| false).await;
    session.end(step);
}
