//! What scenarios of one member share.

use evidence::Scenario;

use crate::driver::{scenario_member::ScenarioMember, session::Session};

/// Why a step that needs a profile is skipped.
pub(super) const NO_PROFILE: &str = "no profile of the member was found";

/// Has a member join, runs `body` with whether it has a profile, and has it leave.
pub(super) async fn with_member(
    session: &Session<'_>,
    scenario: Scenario,
    body: impl AsyncFnOnce(&mut ScenarioMember, bool),
) {
    let Some(mut member) = ScenarioMember::take(session, scenario, 1).await.pop() else {
        return;
    };
    let found = member.join(session).await;
    body(&mut member, found).await;
    member.leave(session).await;
}
