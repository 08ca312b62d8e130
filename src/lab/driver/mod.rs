//! The lab's side of the driver interface: drives the reference manager and the reference scheduler, and offers stand-in
//! members to any manager.

mod both;
mod reference;
mod scheduler;
mod stand_ins;

use std::error::Error;

pub use both::BothHooks;
use collect::driver::Called;
pub use reference::ReferenceHooks;
pub use scheduler::SchedulerHooks;
pub use stand_ins::{Member, StandIns};
use tokio_util::sync::CancellationToken;

/// Waits for what a remote control does, unless the run stops.
async fn within<E: Error>(acts: impl Future<Output = Result<(), E>>, stop: CancellationToken) -> Called {
    let acted = tokio::select! {
        acted = acts => acted,
        () = stop.cancelled() => return Called::failed("the run was stopped"),
    };
    acted.map_or_else(|error| Called::failed(error.to_string()), |()| Called::done())
}
