//! Many members join, stay for a while, and leave.

use std::{sync::Arc, time::Duration};

use evidence::{DriverStep, Scenario, StepOutcome};
use futures::future::join_all;
use tokio::sync::Semaphore;

use crate::driver::{plan::Scale, scenario_member::ScenarioMember, session::Session};

/// For how long all of them stay: what goes wrong with many shows once they are there.
const STAY: Duration = Duration::from_secs(60);

/// The scenario. So many hooks at once as the plan says; all members are there at the same time.
pub(super) async fn scale(session: &Session<'_>, scale: Scale) {
    let joined = join_many(session, Scenario::Scale, scale).await;
    session.pause(STAY).await;
    leave_all(session, joined).await;
}

/// Has many members join. Their steps are not over yet.
pub(super) async fn join_many(
    session: &Session<'_>,
    scenario: Scenario,
    scale: Scale,
) -> Vec<(ScenarioMember, DriverStep)> {
    let members = ScenarioMember::take(session, scenario, scale.members).await;
    let turns = Arc::new(Semaphore::new(scale.at_once.min(Semaphore::MAX_PERMITS)));
    let joining = members.into_iter().map(async |mut member| {
        member.take_turns(&turns);
        let step = member.enter(session).await;
        (member, step)
    });
    join_all(joining).await
}

/// Has them leave.
pub(super) async fn leave_all(session: &Session<'_>, joined: Vec<(ScenarioMember, DriverStep)>) {
    let leaving = joined.into_iter().map(async |(member, mut step)| {
        // What is written to their profiles meanwhile belongs to the step.
        if step.outcome == StepOutcome::Done {
            step.looked_until = session.now();
        }
        member.end(session, step);
        member.leave(session).await;
    });
    join_all(leaving).await;
}
