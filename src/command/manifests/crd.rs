//! `crd`: the CRDs of the kinds that the suite knows.

use clap::Args;
use lab::crd;

use crate::command::terminal::{
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
