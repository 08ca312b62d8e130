//! What a run has and may do, as its parts share it.

use std::time::Duration;

use evidence::{Claim, Scope};
use jiff::Timestamp;
use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::{Clock, later},
    connect::TimedClient,
    driver::Touched,
    hub::{EvidenceRequest, HubTarget, Permissions},
    progress::Progress,
};

/// What a run has and may do.
pub(crate) struct RunContext<'a> {
    pub client: TimedClient,
    pub clock: Clock,
    pub progress: &'a dyn Progress,
    pub claim: &'a Claim,
    pub scope: &'a Scope,
    pub secrets: &'a EvidenceRequest,
    pub target: HubTarget,
    pub permissions: Permissions,
    /// What the run has written to.
    pub touched: Touched,
    /// Cancelled when the run should end early.
    pub stop: CancellationToken,
}

impl RunContext<'_> {
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The moment that much later.
    pub fn after(&self, duration: Duration) -> Timestamp {
        later(self.now(), duration)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits for that long, or until the run is stopped.
    pub async fn pause(&self, duration: Duration) {
        select! {
            () = self.stop.cancelled() => {}
            () = sleep(duration) => {}
        }
    }
}
