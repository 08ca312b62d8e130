//! Starts hubs: in this process, on this machine, in a container.

mod envtest;
mod error;
mod handle;
mod install;
#[cfg(feature = "k3s")]
mod k3s;
mod users;

// What a hub that is started here is told and asked: who starts one needs no other crate.
pub use apiserver::{ApiServer, AuditLevel, Loopback};
pub use envtest::{assets, envtest_options};
pub use error::HubError;
pub use handle::Hub;
pub use install::InstallError;
#[cfg(feature = "k3s")]
pub use k3s::{K3S_IMAGE, K3s, K3sError, K3sKubeconfigError};
