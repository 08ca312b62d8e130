//! The remote control of the scheduler.

use tokio::sync::{mpsc, oneshot};

use super::placement::Clusters;

/// Controls the reference scheduler, as its users would. Clones control the same scheduler.
#[derive(Clone, Debug)]
pub struct Remote {
    orders: mpsc::UnboundedSender<(Order, oneshot::Sender<()>)>,
}

/// The scheduler does not run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the reference scheduler does not run: it has ended, or was not started")]
pub struct RemoteError;

/// An order to the scheduler.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// Select clusters for a workload, new or known.
    Place {
        namespace: String,
        name: String,
        clusters: Clusters,
    },
    /// Forget a workload.
    Unplace { namespace: String, name: String },
    /// Restart.
    Restart,
}

/// The orders, each with a channel that confirms it.
pub(super) type Commands = mpsc::UnboundedReceiver<(Order, oneshot::Sender<()>)>;

/// Makes a remote control and its receiving end.
pub(super) fn channel() -> (Remote, Commands) {
    let (orders, commands) = mpsc::unbounded_channel();
    (Remote { orders }, commands)
}

impl Remote {
    /// Asks for clusters for the workload of that name, in an existing namespace. Returns once the scheduler knows it,
    /// before there is a decision. Its slices are there within 5 s.
    ///
    /// # Errors
    /// When the scheduler does not run.
    pub async fn place(&self, namespace: &str, name: &str, clusters: Clusters) -> Result<(), RemoteError> {
        self.send(Order::Place {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            clusters,
        })
        .await
    }

    /// Asks for other clusters for a workload that was placed. Returns as [`Self::place`] does.
    ///
    /// # Errors
    /// When the scheduler does not run.
    pub async fn reschedule(
        &self,
        namespace: &str,
        name: &str,
        clusters: Clusters,
    ) -> Result<(), RemoteError> {
        self.place(namespace, name, clusters).await
    }

    /// Removes the workload. Returns once the scheduler knows.
    ///
    /// # Errors
    /// When the scheduler does not run.
    pub async fn unplace(&self, namespace: &str, name: &str) -> Result<(), RemoteError> {
        self.send(Order::Unplace {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
        .await
    }

    /// Restarts the scheduler: it keeps the list of workloads, and loses the rest. Returns once it runs again.
    ///
    /// # Errors
    /// When the scheduler does not run.
    pub async fn restart(&self) -> Result<(), RemoteError> {
        self.send(Order::Restart).await
    }

    async fn send(&self, order: Order) -> Result<(), RemoteError> {
        let (taken, confirmed) = oneshot::channel();
        self.orders.send((order, taken)).map_err(|_| RemoteError)?;
        confirmed.await.map_err(|_| RemoteError)
    }
}
