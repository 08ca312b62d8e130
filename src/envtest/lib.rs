//! A real API server on this machine: etcd and kube-apiserver, started for one run and gone after it.
//!
//! The programs come from a folder of envtest binaries ([`Assets`]): what `ci/envtest/build` makes, or any other such
//! folder from Kubernetes 1.29 on. There are no controllers beside the API server: a deleted namespace stays
//! `Terminating`, nothing makes service accounts or collects garbage.

mod assets;
mod certificates;
mod error;
mod processes;
mod server;
mod start;
mod users;

pub use assets::Assets;
pub use error::EnvtestError;
pub use server::{AUDIT_POLICY, Envtest, EnvtestOptions};
pub use start::{ready, tail};
