//! What is wrong with a driver file, where, and what to do.

use std::path::{Path, PathBuf};

use evidence::user_file::UserFileError;
use serde_saphyr::Error;

/// Why a driver file cannot be used. No message quotes a value: it may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DriverFileError {
    /// It cannot be read.
    #[error("failed to read the driver file {}: {cause}", path.display())]
    Read {
        /// The file, as it was given.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// It says something that cannot be.
    #[error("the driver file {} cannot be used: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What cannot be, where, and what to do.
        message: String,
    },
}

impl DriverFileError {
    /// The parser's error, without the text that it quotes.
    pub(super) fn unreadable(path: &Path, error: &Error) -> Self {
        DriverFileError::Wrong {
            path: path.to_owned(),
            message: UserFileError::new(error, "action").to_string(),
        }
    }
}
