//! Connects to hubs and members: kubeconfigs, and why a request failed.

mod cause;
mod connection;
mod error;
mod hub_access;
pub mod kubeconfig;

pub use cause::{cause, is_tls, root};
pub use connection::{Connection, USER_AGENT};
pub use error::{ClientError, ConnectError, ContextError};
pub use hub_access::{HubAccess, credentials_in};
pub use kubeconfig::{KubeconfigOptions, client, config, read};
