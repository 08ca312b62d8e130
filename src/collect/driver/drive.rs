//! The driver beside the watch.

use std::pin::pin;

use evidence::Driver;
use tokio::{select, sync::watch};

use super::{
    hooks::Stop,
    plan::DriverPlan,
    scenario,
    session::{Lent, Session},
};

/// Has the implementation act by that plan, and undoes what is to be undone, also when `stop` comes first. Gives what was
/// done, and whether that was all.
pub(crate) async fn drive(
    lent: Lent<'_>,
    plan: &DriverPlan,
    stop: impl Future<Output = ()>,
) -> (Driver, bool) {
    let (tell, told) = watch::channel(false);
    let session = Session::new(lent, plan, Stop::told_by(told));
    let whole = {
        let mut all = pin!(scenario::all(&session));
        select! {
            biased;
            () = &mut all => true,
            () = stop => {
                let _ = tell.send(true);
                all.await;
                false
            }
        }
    };
    (session.finish().await, whole)
}
