//! Connects to hubs and members: kubeconfigs, credentials, requests, and why a request failed.

pub(crate) mod call;
mod cause;
pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod exec;
pub(crate) mod exec_credential;
pub(crate) mod failure;
pub(crate) mod hidden;
pub(crate) mod hub_access;
mod kubeconfig;
pub mod messages;
pub(crate) mod own_credentials;
pub mod request_cost;

pub(crate) use cause::is_tls;
pub use cause::{cause, root};
pub use client::{USER_AGENT, client};
pub use connection::Connection;
pub use error::{ClientError, ConnectError, ContextError, ExecError};
pub use exec_credential::AnswerFlaw;
pub use hub_access::{HubAccess, alone};
pub use kubeconfig::{KubeconfigOptions, config, read};
