//! Where a hub comes from.
//!
//! Each file answers with a way to reach one kind of hub; what is then read from it is the same for all.

mod cause;
mod envtest;
mod error;
mod handle;
mod handout;
mod install;
#[cfg(feature = "k3s")]
mod k3s;
mod kubeconfig;
mod start;

pub use cause::{cause, is_tls};
pub use envtest::{Assets, Envtest, EnvtestError, EnvtestOptions};
pub use error::HubError;
pub use handle::{Hub, USER_AGENT};
pub use handout::{Handout, credentials_in};
#[cfg(feature = "k3s")]
pub use k3s::{K3S_IMAGE, K3s, K3sError};
pub use kubeconfig::KubeconfigOptions;
pub(crate) use kubeconfig::{client, config, read};
