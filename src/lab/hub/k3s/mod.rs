//! Starts a real Kubernetes in a container: K3s, removed after the run.
//!
//! Unlike envtest it has controllers and a node, so a manager can be installed on it.
//! It needs a container engine with Docker's API that allows privileged containers.

mod container;
mod error;
mod request;
mod users;

pub use container::K3s;
pub use error::{K3sError, K3sKubeconfigError};
pub use request::IMAGE as K3S_IMAGE;
