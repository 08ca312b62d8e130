//! A run: the road from a plan to evidence.

mod other_evidence;
pub(crate) mod patience;
pub(crate) mod plan;
mod profiles;
mod settle;
mod snapshot;
pub(crate) mod state;
pub(crate) mod survey;
mod watches;

use evidence::Evidence;
use tokio::select;
use tokio_util::sync::CancellationToken;

use self::{plan::Plan, settle::follow, state::Run};
use crate::{
    clock::Clock, connect::connection::Connection, hub::error::CollectError, members::MemberPoll,
    progress::Progress,
};

/// Collects what the plan asks for. When `stop` is cancelled, the run ends early with what it has seen so far. It ends
/// too if the hub does not finish its answers: besides the window, the run waits for it no longer than a list may take
/// and 20 s.
///
/// # Errors
/// When nothing can be seen of the profiles. What goes wrong later becomes a gap in the evidence.
pub async fn collect(
    hub: &Connection,
    plan: &Plan,
    clock: Clock,
    progress: &dyn Progress,
    stop: CancellationToken,
) -> Result<Evidence, CollectError> {
    let before = hub.traffic();
    let writes = plan.testbed.is_some() || plan.driver.as_ref().is_some_and(|driver| driver.mutations);
    let mut run = Run::prepare(hub, plan, writes, clock, progress, stop).await?;
    let mut asking = MemberPoll::new(&plan.members, &plan.scope, plan.observe, clock);
    // The parts of a run are on the heap: together they would fill the stack of a thread.
    Box::pin(run.profiles_and_members(&mut asking)).await?;
    run.keep_window();
    // What is open when the window ends goes on while the rest is read.
    let mut open = run.open();
    select! {
        biased;
        () = Box::pin(run.after_window(asking)) => {}
        () = follow(open.as_mut()) => {}
    }
    let stopped = run.stopped();
    if let Some(open) = open {
        Box::pin(run.settle(open)).await;
    }
    Ok(run.finish(stopped, hub.traffic().since(before)))
}
