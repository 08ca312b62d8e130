//! Why an evidence file could not be read or written.

use std::io;

/// Why an evidence file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The system refuses to have it written.
    #[error("failed to write the evidence file {path}: {cause}")]
    Write {
        /// The path, as it was given.
        path: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It does not begin like an evidence file.
    #[error("line 1 is no header of an evidence file: was it written with --record?")]
    NoHeader,
    /// It was written in a format that this suite does not read.
    #[error("its format is `{found}`, and this suite reads `{known}`: judge it with the suite that wrote it", known = crate::FORMAT)]
    Format {
        /// The format that it names.
        found: String,
    },
    /// A line does not hold what it should.
    #[error("line {line}: {message}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}
