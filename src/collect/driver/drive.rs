//! Runs the driver beside the watch.

use std::pin::pin;

use evidence::Driver;
use tokio::select;
use tokio_util::sync::CancellationToken;

use super::{plan::DriverPlan, run_context::RunContext, scenario, session::Session};

/// Runs the scenarios of the plan and undoes their changes, also when `stop` is cancelled. Returns what was done, and
/// whether that was all.
pub(crate) async fn drive(
    context: RunContext<'_>,
    plan: &DriverPlan,
    stop: CancellationToken,
) -> (Driver, bool) {
    let session = Session::new(context, plan, stop.clone());
    let whole = {
        let mut all = pin!(scenario::all(&session));
        select! {
            biased;
            () = &mut all => true,
            () = stop.cancelled() => {
                all.await;
                false
            }
        }
    };
    (session.finish().await, whole)
}
