//! Many members join, stay for a while, and leave.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use tokio::sync::Semaphore;

use crate::{
    collect::driver::{guest::Guest, plan::Scale, session::Session},
    evidence::Scenario,
};

/// For how long all of them stay: what goes wrong with many shows once they are there.
const STAY: Duration = Duration::from_secs(60);

/// The scenario. So many hooks at once as the plan says; all members are there at the same time.
pub(super) async fn scale(session: &Session<'_>, scale: Scale) {
    let guests = Guest::take(session, Scenario::Scale, scale.members).await;
    let turns = Arc::new(Semaphore::new(scale.at_once));
    let joining = guests.into_iter().map(async |mut guest| {
        guest.take_turns(&turns);
        guest.join(session).await;
        guest
    });
    let guests = join_all(joining).await;
    session.pause(STAY).await;
    join_all(guests.into_iter().map(|guest| guest.leave(session))).await;
}
