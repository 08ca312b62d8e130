//! What can go wrong with an API server of our own.

use std::{io, path::PathBuf, time::Duration};

/// Why there is no API server.
#[derive(Debug, thiserror::Error)]
pub enum EnvtestError {
    /// No folder has the programs.
    #[error(
        "failed to find etcd and kube-apiserver; looked in {}. Build them with `ci/envtest/build` (it needs Go), or name \
         any folder of envtest binaries with KUBEBUILDER_ASSETS",
        looked_in.join("; ")
    )]
    AssetsMissing {
        /// The places looked at, each with what was wrong with it.
        looked_in: Vec<String>,
    },

    /// A file or folder for the servers could not be made or removed.
    #[error("failed to prepare {}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },

    /// The serving certificate or a key could not be made.
    #[error("failed to make the API server's certificates")]
    Certificates(#[from] rcgen::Error),

    /// The system gave no random bytes for the users' tokens.
    #[error("failed to draw random tokens: the system has no randomness to give")]
    Randomness,

    /// No free port on the loopback address.
    #[error("failed to find a free port on 127.0.0.1")]
    Port(#[source] io::Error),

    /// A program could not be started.
    #[error("failed to start {program}")]
    Spawn {
        /// The program's path.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },

    /// A program ended before the API server was ready.
    #[error("{program} ended ({status}) before the API server was ready; whole log: {}; its end:\n{tail}", log.display())]
    Exited {
        /// The program's name.
        program: &'static str,
        /// Its exit status.
        status: String,
        /// A copy of its log, which outlives the servers' folder.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },

    /// The programs run, but the API server does not become ready.
    #[error(
        "the API server was not ready within {within:?} (it last answered: {answer}); whole log: {}; its end:\n{tail}",
        log.display()
    )]
    NotReady {
        /// How long it was given.
        within: Duration,
        /// Its last answer, or why there was none.
        answer: String,
        /// A copy of kube-apiserver's log, which outlives the servers' folder.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },

    /// The client that asks whether the server is ready could not be made.
    #[error("failed to make a client for the API server")]
    Client(#[source] Box<kube::Error>),
}

impl EnvtestError {
    /// Whether another program took the port between our choosing it and the server's using it.
    pub(super) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Exited { tail, .. } if tail.contains("address already in use"))
    }
}
