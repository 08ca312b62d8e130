//! A decision grows past what a slice holds, and shrinks again.

use std::time::Duration;

use evidence::{Scenario, api::names::LARGEST_SLICE};

use super::placement::with_members;
use crate::driver::session::Session;

/// How many clusters do not fit into one slice.
const TOO_MANY: usize = LARGEST_SLICE + 1;

/// How many members more than that there must be: a scheduler may have reasons not to select some of them.
const SPARE: usize = 3;

/// How long each request stands. What several slices say together is judged once it has lasted for longer than 30 s.
const REST: Duration = Duration::from_secs(40);

/// The scenario.
pub(super) async fn slice_limit(session: &Session<'_>) {
    with_members(
        session,
        Scenario::SliceLimit,
        TOO_MANY + SPARE,
        async |placement, _| {
            let mut is_met = placement.place(session, LARGEST_SLICE).await;
            for clusters in [TOO_MANY, LARGEST_SLICE] {
                // What it never reached it cannot leave.
                if !is_met {
                    return;
                }
                session.pause(REST).await;
                is_met = placement.reschedule(session, clusters).await;
            }
            session.pause(REST).await;
        },
    )
    .await;
}
