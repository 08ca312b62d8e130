#![doc = include_str!("README.md")]

mod assets;
mod server;
mod servers;

use std::{io, path::PathBuf};

pub use assets::Assets;
pub use server::{Envtest, EnvtestOptions, User, ready};

/// Why an API server does not start, or leaves something behind.
#[derive(Debug, thiserror::Error)]
pub enum EnvtestError {
    /// No folder has the programs.
    #[error(
        "failed to find etcd and kube-apiserver; looked in {}. Name a folder of envtest binaries with KUBEBUILDER_ASSETS",
        looked_in.join("; ")
    )]
    AssetsMissing {
        /// The folders, each with what is missing there.
        looked_in: Vec<String>,
    },

    /// The system refused a file, a port, or a process.
    #[error("failed to {action}")]
    System {
        /// What was tried.
        action: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },

    /// A program ended before the API server was ready, or the server was not ready in time.
    #[error("{reason}; whole log: {}; its end:\n{tail}", log.display())]
    NotReady {
        /// What happened.
        reason: String,
        /// A copy of the program's log, which outlives the servers' folder.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
}

impl EnvtestError {
    fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        |source| Self::System { action, source }
    }

    /// Whether another program took the port after it was chosen and before the server listened on it.
    fn is_port_taken(&self) -> bool {
        matches!(self, Self::NotReady { tail, .. } if tail.contains("address already in use"))
    }
}
