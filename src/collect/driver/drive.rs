//! The driver beside the watch.

use std::pin::pin;

use evidence::Driver;
use tokio::select;
use tokio_util::sync::CancellationToken;

use super::{plan::DriverPlan, run_context::RunContext, scenario, session::Session};

/// Has the implementation act by that plan, and undoes what is to be undone, also when `stop` comes first. Gives what was
/// done, and whether that was all.
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
