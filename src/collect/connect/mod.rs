//! Connects to hubs and members: kubeconfigs, credentials, requests, and why a request failed.

pub(crate) mod call;
pub(crate) mod connection;
pub(crate) mod exec;
pub(crate) mod failure;
mod kubeconfig;
pub(crate) mod own_credentials;

pub use connection::{Connection, USER_AGENT, client};
pub use failure::{ClientError, ConnectError, ConnectFault, cause, root};
pub use kubeconfig::{HubAccess, KubeconfigOptions, alone, config, read};
