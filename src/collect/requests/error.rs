//! Why an audit log could not be read.

use std::io;

/// Why an audit log could not be read. Quotes nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    /// The system refuses.
    #[error("failed to read the audit log {path}: {cause}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It is packed.
    #[error("the audit log {path} is packed with gzip: unpack it first, with `gunzip --keep`")]
    Packed {
        /// The file.
        path: String,
    },
    /// A line is no audit event.
    #[error("{path}:{line} is no audit event in JSON: {message}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// There is no event in it.
    #[error(
        "the audit log {path} holds no event: is the API server's --audit-log-path set, and its policy not None?"
    )]
    Empty {
        /// The files.
        path: String,
    },
}
