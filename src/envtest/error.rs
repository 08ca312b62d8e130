//! Why an API server does not start, or leaves something behind.

use std::{io, path::PathBuf, time::Duration};

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

    /// The server cannot have this user.
    #[error("failed to add the user {name:?}: {reason}")]
    User {
        /// The user's name.
        name: String,
        /// Why not.
        reason: &'static str,
    },

    /// A file or folder of the servers could not be written or removed.
    #[error("failed to prepare {}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },

    /// A certificate or key could not be made.
    #[error("failed to make the API server's certificates")]
    Certificates(#[from] rcgen::Error),

    /// The system gave no random bytes for the users' tokens.
    #[error("failed to draw random tokens: the system has no randomness")]
    Randomness,

    /// No free port on the loopback address.
    #[error("failed to find a free port on 127.0.0.1")]
    Port(#[source] io::Error),

    /// A program could not be started.
    #[error("failed to start {program}")]
    Spawn {
        /// The program's path.
        program: String,
        /// The system's error.
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

    /// The client that waits for the server could not be made.
    #[error("failed to make a client for the API server")]
    Client(#[source] Box<kube::Error>),
}

impl EnvtestError {
    /// Whether another program took the port after it was chosen and before the server listened on it.
    pub(super) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Exited { tail, .. } if tail.contains("address already in use"))
    }
}
