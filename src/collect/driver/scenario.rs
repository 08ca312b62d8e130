//! Runs the scenarios of the table.
//!
//! A scenario has actors, which join before its steps and leave after them in any case, and steps. For each step the run
//! checks what it requires, records how to undo it, acts, and observes what follows.

mod act;
mod foreign;
mod run;
mod table;

use evidence::Driver;
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use tokio_util::sync::CancellationToken;

use self::{
    run::DriverScenario,
    table::{Order, SCENARIOS},
};
use super::{
    plan::DriverPlan,
    session::{RunContext, Session},
};

/// Runs the scenarios of the plan and undoes their changes, also when `stop` is cancelled. Returns the steps, and
/// whether the run completed them.
pub(crate) async fn drive(
    context: RunContext<'_>,
    plan: &DriverPlan,
    stop: CancellationToken,
) -> (Driver, bool) {
    let session = Session::new(context, plan, stop.clone());
    run_all(&session).await;
    let is_complete = !stop.is_cancelled();
    (session.finish().await, is_complete)
}

/// Runs all scenarios that the run can do.
async fn run_all(session: &Session<'_>) {
    let others_ended = CancellationToken::new();
    let in_order = |order| -> Vec<BoxFuture<'_, ()>> {
        let specs = SCENARIOS.iter().filter(move |spec| spec.order == order);
        specs
            .map(|spec| {
                DriverScenario::new(session, spec, others_ended.clone())
                    .run()
                    .boxed()
            })
            .collect()
    };
    let others = async {
        join_all(in_order(Order::SideBySide)).await;
        for scenario in in_order(Order::AfterOthers) {
            scenario.await;
        }
        others_ended.cancel();
    };
    futures::join!(others, join_all(in_order(Order::UntilOthersEnd)));
}
