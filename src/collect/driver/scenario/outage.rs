//! A member's control plane breaks, and heals.

use evidence::{
    DriverAction, Scenario, StepOutcome,
    api::{ClusterProfile, no_longer_told},
};

use super::with_member::{NO_PROFILE, with_member};
use crate::{
    driver::{answers, journal::UndoEntry, scenario_member::ScenarioMember, session::Session},
    watch::record::Record,
};

/// The scenario.
pub(super) async fn outage(session: &Session<'_>) {
    with_member(session, Scenario::Outage, async |member, found| {
        if let Err(reason) = healthy_at_first(session, member, found).await {
            session.skip_step(member.begin(session, DriverAction::Break), reason);
            return;
        }
        let undo = match session.record_undo(UndoEntry::Outage {
            name: member.name().to_owned(),
        }) {
            Ok(undo) => undo,
            Err(reason) => {
                session.skip_step(member.begin(session, DriverAction::Break), reason);
                return;
            }
        };
        let before = member.profile(&session.record()).cloned();
        let mut step = member.begin(session, DriverAction::Break);
        let called = member.call(session, DriverAction::Break, None).await;
        session.did(&mut step, called);
        session
            .look(&mut step, |record| {
                member
                    .profile(record)
                    .is_none_or(|profile| !answers::is_healthy(profile))
            })
            .await;
        let broken = step.outcome == StepOutcome::Done;
        member.end(session, step);
        if heal(session, member, broken, before.as_ref()).await {
            session.undone(undo);
        } else {
            session.report_leftover(format!("the member {} is still broken", member.name()));
        }
    })
    .await;
}

/// What is healthy already cannot be seen to break.
async fn healthy_at_first(
    session: &Session<'_>,
    member: &ScenarioMember,
    found: bool,
) -> Result<(), &'static str> {
    if !found {
        return Err(NO_PROFILE);
    }
    let patience = session.plan.patience.with(DriverAction::Join);
    let deadline = session.after(patience);
    let healthy = |record: &Record| member.profile(record).is_some_and(answers::is_healthy);
    if session.wait(deadline, healthy).await {
        Ok(())
    } else {
        Err("the profile does not say that the member is healthy, though nothing was broken yet")
    }
}

/// Heals the member, in any case, and waits until its profile is as `before`. Where it was not broken as it should be, the
/// answer to that means nothing.
async fn heal(
    session: &Session<'_>,
    member: &ScenarioMember,
    broken: bool,
    before: Option<&ClusterProfile>,
) -> bool {
    let mut step = member.begin(session, DriverAction::Heal);
    let called = member.call(session, DriverAction::Heal, None).await;
    let healed = called.failure.is_none();
    session.did(&mut step, called);
    if broken {
        session
            .look(&mut step, |record| {
                member.profile(record).is_some_and(|profile| {
                    let is_whole = before.is_none_or(|before| no_longer_told(before, profile).is_empty());
                    answers::is_healthy(profile) && is_whole
                })
            })
            .await;
        member.end(session, step);
    }
    healed
}
