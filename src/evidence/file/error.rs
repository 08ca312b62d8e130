//! Why an evidence file could not be read.

use std::io;

use crate::LimitError;

/// Why an evidence file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system cannot read it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It does not begin like an evidence file.
    #[error("line 1 is not the header of an evidence file")]
    NoHeader,
    /// This suite does not read its format.
    #[error(
        "the format is `{found}`, expected `{known}`: `ci/convert-evidence` of the repository converts older files",
        known = crate::FORMAT
    )]
    Format {
        /// The format that it names.
        found: String,
    },
    /// It exceeds a limit.
    #[error("line {line}: {limit}")]
    TooLarge {
        /// The line that is too large, or up to which the file was read.
        line: usize,
        /// The limit.
        #[source]
        limit: LimitError,
    },
    /// A line does not hold what it should.
    #[error("line {line}: {flaw}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it. Quotes no value: any of them may be a secret.
        flaw: String,
    },
}
