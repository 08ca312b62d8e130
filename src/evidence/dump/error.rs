//! Why a dump could not be read.

use std::{fmt, io};

use crate::LimitError;

/// Why a dump could not be read. Quotes no value: any of them may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The system cannot read it.
    #[error("failed to read {file}: {cause}")]
    Read {
        /// The file.
        file: String,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// It exceeds a limit.
    #[error("{file}:{line}: {limit}")]
    TooLarge {
        /// The file.
        file: String,
        /// The line up to which it was read.
        line: usize,
        /// The limit.
        #[source]
        limit: LimitError,
    },
    /// Its content is not a dump: the place, what is wrong there, and what to do.
    #[error("{0}")]
    Content(String),
}

/// A place in a file.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub file: &'a str,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Place<'_> {
    /// The error for text that cannot be parsed. The column counts from 1.
    pub fn syntax(&self, column: usize, language: &str, message: &str) -> DumpError {
        DumpError::Content(format!(
            "{self}:{column} is not valid {language}: {message}; correct the file, or dump again"
        ))
    }

    /// The error for a file whose last line this is.
    pub fn cut_short(&self) -> DumpError {
        DumpError::Content(format!(
            "{self} ends in the middle: was kubectl interrupted? dump again"
        ))
    }

    /// The error for something other than an object.
    pub fn not_an_object(&self) -> DumpError {
        DumpError::Content(format!(
            "{self} is not a Kubernetes object: dump with `kubectl get clusterprofiles -A -o yaml`"
        ))
    }

    /// The error for a malformed list.
    pub fn malformed_list(&self) -> DumpError {
        DumpError::Content(format!(
            "{self} is a malformed list: its items are not a list, or nest too deep"
        ))
    }

    /// The error for a list whose items can only be read after all of them.
    pub fn late_kind(&self) -> DumpError {
        DumpError::Content(format!(
            "{self} is a large list whose items have no kind: dump with `kubectl get clusterprofiles -A -o json`"
        ))
    }
}
