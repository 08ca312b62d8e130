//! An API server in this process, by the suite's clock.

use apiserver::ApiServer;
use collect::clock::Clock;

/// A new server that takes its time from `clock`.
pub(crate) fn server(clock: Clock) -> ApiServer {
    ApiServer::new(apiserver::Clock::new(move || clock.now()))
}
