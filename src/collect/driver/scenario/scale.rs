//! Many members join, stay for a while, and leave.

use std::{sync::Arc, time::Duration};

use evidence::{Scenario, StepOutcome};
use futures::future::join_all;
use tokio::sync::Semaphore;

use crate::driver::{plan::Scale, scenario_member::ScenarioMember, session::Session};

/// For how long all of them stay: what goes wrong with many shows once they are there.
const STAY: Duration = Duration::from_secs(60);

/// The scenario. So many hooks at once as the plan says; all members are there at the same time.
pub(super) async fn scale(session: &Session<'_>, scale: Scale) {
    let members = ScenarioMember::take(session, Scenario::Scale, scale.members).await;
    let turns = Arc::new(Semaphore::new(scale.at_once.min(Semaphore::MAX_PERMITS)));
    let joining = members.into_iter().map(async |mut member| {
        member.take_turns(&turns);
        let step = member.enter(session).await;
        (member, step)
    });
    let joined = join_all(joining).await;
    session.pause(STAY).await;
    let leaving = joined.into_iter().map(async |(member, mut step)| {
        // What is written to their profiles meanwhile belongs to the step.
        if step.outcome == StepOutcome::Done {
            step.looked_until = session.now();
        }
        session.end(step);
        member.leave(session).await;
    });
    join_all(leaving).await;
}
