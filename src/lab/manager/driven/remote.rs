//! The remote control of the manager.

use tokio::sync::{mpsc, oneshot};

use super::publish::profile_name;
use crate::manager::members::FLEET;

/// Controls the reference manager, as an administrator would. Clones control the same manager.
#[derive(Clone, Debug)]
pub struct Remote {
    orders: mpsc::UnboundedSender<(Order, oneshot::Sender<()>)>,
}

/// The manager does not run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the reference manager does not run: it has ended, or was not started")]
pub struct RemoteError;

/// An order to the manager.
pub(in crate::manager) enum Order {
    /// Register a member.
    Join { name: String, member: kube::Client },
    /// Remove a member.
    Leave { name: String },
    /// Restart.
    Restart,
    /// Cut the manager off from its list of members, or connect it again.
    CutOff(bool),
}

/// The orders, each with a channel that confirms it.
pub(in crate::manager) type Commands = mpsc::UnboundedReceiver<(Order, oneshot::Sender<()>)>;

/// Makes a remote control and its receiving end.
pub(in crate::manager) fn channel() -> (Remote, Commands) {
    let (orders, commands) = mpsc::unbounded_channel();
    (Remote { orders }, commands)
}

impl Remote {
    /// Registers a member of that name, which the manager reaches by this client; its user may do everything. Returns once
    /// the manager knows the member, before there is a profile.
    ///
    /// # Errors
    /// When the manager does not run.
    pub async fn join(&self, name: &str, member: kube::Client) -> Result<(), RemoteError> {
        let name = name.to_owned();
        self.send(Order::Join { name, member }).await
    }

    /// Removes the member of that name. Returns once the manager knows.
    ///
    /// # Errors
    /// When the manager does not run.
    pub async fn leave(&self, name: &str) -> Result<(), RemoteError> {
        let name = name.to_owned();
        self.send(Order::Leave { name }).await
    }

    /// Restarts the manager: it keeps the list of members, and loses the rest. Returns once it runs again.
    ///
    /// # Errors
    /// When the manager does not run.
    pub async fn restart(&self) -> Result<(), RemoteError> {
        self.send(Order::Restart).await
    }

    /// Cuts the manager off from its list of members, or connects it again. Returns once the manager noticed.
    ///
    /// # Errors
    /// When the manager does not run.
    pub async fn cut_off(&self, is_cut_off: bool) -> Result<(), RemoteError> {
        self.send(Order::CutOff(is_cut_off)).await
    }

    /// Namespace and name of the profile of the member of that name.
    pub fn profile(name: &str) -> (String, String) {
        (FLEET.to_owned(), profile_name(name))
    }

    async fn send(&self, order: Order) -> Result<(), RemoteError> {
        let (taken, confirmed) = oneshot::channel();
        self.orders.send((order, taken)).map_err(|_| RemoteError)?;
        confirmed.await.map_err(|_| RemoteError)
    }
}
