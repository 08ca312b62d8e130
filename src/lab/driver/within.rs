//! Waits for a remote control.

use std::error::Error;

use collect::driver::Called;
use tokio_util::sync::CancellationToken;

/// Waits for what a remote control does, unless the run stops.
pub(crate) async fn within<E: Error>(
    acts: impl Future<Output = Result<(), E>>,
    stop: CancellationToken,
) -> Called {
    let acted = tokio::select! {
        acted = acts => acted,
        () = stop.cancelled() => return Called::failed("the run was stopped"),
    };
    acted.map_or_else(|error| Called::failed(error.to_string()), |()| Called::done())
}
