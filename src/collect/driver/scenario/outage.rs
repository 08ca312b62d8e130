//! A member's control plane breaks, and heals.

use evidence::{DriverAction, Scenario, StepOutcome};

use super::{NO_PROFILE, with_guest};
use crate::{
    driver::{answers, guest::Guest, journal::Debt, session::Session},
    record::Record,
};

/// The scenario.
pub(super) async fn outage(session: &Session<'_>) {
    with_guest(session, Scenario::Outage, async |guest, found| {
        if let Err(reason) = healthy_at_first(session, guest, found).await {
            session.forgo(guest.begin(session, DriverAction::Break), reason);
            return;
        }
        let debt = match session.owe(Debt::Outage {
            name: guest.name().to_owned(),
        }) {
            Ok(debt) => debt,
            Err(reason) => {
                session.forgo(guest.begin(session, DriverAction::Break), reason);
                return;
            }
        };
        let mut step = guest.begin(session, DriverAction::Break);
        let called = guest.call(session, DriverAction::Break, None).await;
        session.did(&mut step, called);
        session
            .look(&mut step, |record| {
                guest
                    .profile(record)
                    .is_none_or(|profile| !answers::is_healthy(profile))
            })
            .await;
        let broken = step.outcome == StepOutcome::Done;
        session.end(step);
        if heal(session, guest, broken).await {
            session.undone(debt);
        } else {
            session.remains(format!("the member {} is still broken", guest.name()));
        }
    })
    .await;
}

/// What is healthy already cannot be seen to break.
async fn healthy_at_first(session: &Session<'_>, guest: &Guest, found: bool) -> Result<(), &'static str> {
    if !found {
        return Err(NO_PROFILE);
    }
    let patience = session.plan.patience.with(DriverAction::Join);
    let deadline = session.after(patience);
    let healthy = |record: &Record| guest.profile(record).is_some_and(answers::is_healthy);
    match session.wait(deadline, healthy).await {
        true => Ok(()),
        false => Err("the profile does not say that the member is healthy, though nothing was broken yet"),
    }
}

/// Heals the member, in any case. Where it was not broken as it should be, the answer to that means nothing.
async fn heal(session: &Session<'_>, guest: &Guest, broken: bool) -> bool {
    let mut step = guest.begin(session, DriverAction::Heal);
    let called = guest.call(session, DriverAction::Heal, None).await;
    let healed = called.failure.is_none();
    session.did(&mut step, called);
    if broken {
        session
            .look(&mut step, |record| {
                guest.profile(record).is_some_and(answers::is_healthy)
            })
            .await;
        session.end(step);
    }
    healed
}
