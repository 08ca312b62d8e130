//! How the manager is told what to do.

use tokio::sync::{mpsc, oneshot};

use super::publish::profile_name;
use crate::manager::members::FLEET;

/// Tells the reference manager what to do, as an administrator would. Copies tell the same manager.
#[derive(Clone, Debug)]
pub struct Remote {
    orders: mpsc::UnboundedSender<(Order, oneshot::Sender<()>)>,
}

/// The manager did not do as it was told.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the reference manager does not run: it has ended, or was not started")]
pub struct RemoteError;

/// What the manager is to do.
pub(in crate::manager) enum Order {
    /// It takes a member.
    Join { name: String, member: kube::Client },
    /// It lets a member go.
    Leave { name: String },
    /// It ends and starts again.
    Restart,
}

/// The orders, as the manager gets them, each with whom to tell that it was taken.
pub(in crate::manager) type Commands = mpsc::UnboundedReceiver<(Order, oneshot::Sender<()>)>;

/// A way to tell the manager what to do.
pub(in crate::manager) fn channel() -> (Remote, Commands) {
    let (orders, commands) = mpsc::unbounded_channel();
    (Remote { orders }, commands)
}

impl Remote {
    /// Has the manager take the member of that name, which it reaches by this client; its user may do everything.
    /// Comes back once the manager knows of the member, which is before there is a profile.
    ///
    /// # Errors
    /// When there is no manager any more.
    pub async fn join(&self, name: &str, member: kube::Client) -> Result<(), RemoteError> {
        let name = name.to_owned();
        self.send(Order::Join { name, member }).await
    }

    /// Has the manager let the member of that name go. Comes back once it knows.
    ///
    /// # Errors
    /// When there is no manager any more.
    pub async fn leave(&self, name: &str) -> Result<(), RemoteError> {
        let name = name.to_owned();
        self.send(Order::Leave { name }).await
    }

    /// Restarts the manager: it forgets what it knew of its members, but not which they are. Comes back once it runs
    /// again.
    ///
    /// # Errors
    /// When there is no manager any more.
    pub async fn restart(&self) -> Result<(), RemoteError> {
        self.send(Order::Restart).await
    }

    /// Namespace and name of the profile of the member of that name.
    pub fn profile(name: &str) -> (String, String) {
        (FLEET.to_owned(), profile_name(name))
    }

    async fn send(&self, order: Order) -> Result<(), RemoteError> {
        let (taken, told) = oneshot::channel();
        self.orders.send((order, taken)).map_err(|_| RemoteError)?;
        told.await.map_err(|_| RemoteError)
    }
}
