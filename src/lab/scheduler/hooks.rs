//! The reference scheduler as a driven implementation.

use collect::driver::{Call, Called, Hooks};
use evidence::DriverAction;
use futures::{FutureExt as _, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use super::{Clusters, Remote, RemoteError, Scheduler};
use crate::driver::within;

/// Drives the reference scheduler.
pub struct SchedulerHooks {
    remote: Remote,
}

impl SchedulerHooks {
    /// Drives the scheduler of this remote control.
    pub fn new(remote: Remote) -> Self {
        Self { remote }
    }

    async fn act(&self, call: &Call<'_>) -> Result<(), RemoteError> {
        let (namespace, remote) = (Scheduler::NAMESPACE, &self.remote);
        match (call.action, call.placement) {
            (DriverAction::Place, Some(placement)) => {
                let clusters = Clusters::Count(placement.clusters);
                remote.place(namespace, &placement.name, clusters).await
            }
            (DriverAction::Reschedule, Some(placement)) => {
                let clusters = Clusters::Count(placement.clusters);
                remote.reschedule(namespace, &placement.name, clusters).await
            }
            (DriverAction::Unplace, Some(placement)) => remote.unplace(namespace, &placement.name).await,
            (DriverAction::Restart, _) => remote.restart().await,
            // The run never asks for what is lacking.
            _ => Ok(()),
        }
    }
}

impl Hooks for SchedulerHooks {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        match action {
            DriverAction::Place
            | DriverAction::Reschedule
            | DriverAction::Unplace
            | DriverAction::Restart => None,
            _ => Some(format!("the reference scheduler knows no `{action}`")),
        }
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        within(self.act(call), stop).boxed()
    }
}
