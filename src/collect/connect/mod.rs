//! Connects to hubs and members: kubeconfigs, and why a request failed.

mod cause;
mod connection;
mod error;
mod exec;
mod hub_access;
pub mod kubeconfig;
mod own_credentials;

pub use cause::{cause, is_cut_off, is_tls, root};
pub use connection::{Connection, USER_AGENT};
pub use error::{ClientError, ConnectError, ContextError};
pub use exec::ExecError;
pub(crate) use exec::{PATIENCE as EXEC_PATIENCE, connect};
pub use hub_access::{HubAccess, credentials_in};
pub use kubeconfig::{KubeconfigOptions, client, config, read};
pub(crate) use own_credentials::OwnCredentials;

pub use crate::exec_credential::AnswerFlaw;
