//! Prints what others apply or check files with: CRDs, RBAC roles, JSON Schemas.

pub mod rbac;
pub mod schema;

use clap::Args;
use lab::crd;

use super::terminal::{
    exit::{Exit, Failure},
    print::print,
};

/// Print the CustomResourceDefinitions, for `kubectl apply -f -` (Kubernetes 1.30 and newer)
#[derive(Debug, Args)]
pub struct Crd {}

impl Crd {
    /// Prints them as a stream of YAML documents.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        print(&crd::yaml()).map(|()| Exit::Success)
    }
}
