//! A real Kubernetes in a container: K3s, started for one run and gone after it.
//!
//! Beside the API server it has what envtest lacks: controllers, and a node, so that a manager can be installed on it.
//! It takes a container engine that speaks Docker's API and lets a container be privileged.

mod container;
mod error;
mod request;
mod users;

pub use container::K3s;
pub use error::K3sError;
pub use request::IMAGE as K3S_IMAGE;
