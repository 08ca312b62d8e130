//! Why an audit log could not be read.

use std::io;

/// Why an audit log could not be read. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    /// The system refuses.
    #[error("failed to read the audit log {path}: {cause}")]
    Read {
        /// The file or folder.
        path: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It is something else.
    #[error(
        "{path} is no audit log: {message}; give the one that the API server writes with --audit-log-format=json"
    )]
    NoLog {
        /// The file.
        path: String,
        /// What is wrong with its first line.
        message: String,
    },
    /// There is no event in it.
    #[error(
        "the audit log {path} holds no event: is the API server's --audit-log-path set, and its policy not None?"
    )]
    Empty {
        /// The files or folders.
        path: String,
    },
}
