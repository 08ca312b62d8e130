//! A decision grows past what a slice holds, and shrinks again.

use evidence::{Scenario, api::names::LARGEST_SLICE};

use super::placement::with_members;
use crate::driver::session::Session;

/// How many clusters do not fit into one slice.
const TOO_MANY: usize = LARGEST_SLICE + 1;

/// The scenario.
pub(super) async fn slice_limit(session: &Session<'_>) {
    with_members(session, Scenario::SliceLimit, TOO_MANY, async |placement, _| {
        // What it never reached it cannot leave.
        if placement.place(session, LARGEST_SLICE).await && placement.reschedule(session, TOO_MANY).await {
            placement.reschedule(session, LARGEST_SLICE).await;
        }
    })
    .await;
}
