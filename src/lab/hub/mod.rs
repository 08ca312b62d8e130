//! Hubs that the suite starts itself: in this process, on this machine, in a container.

mod error;
mod handle;
mod install;
#[cfg(feature = "k3s")]
mod k3s;

// What a hub that is started here is told and asked; who starts one needs no other crate.
pub use apiserver::{ApiServer, AuditLevel, Loopback};
pub use envtest::{Assets, EnvtestError, EnvtestOptions};
pub use error::HubError;
pub use handle::Hub;
#[cfg(feature = "k3s")]
pub use k3s::{K3S_IMAGE, K3s, K3sError};
