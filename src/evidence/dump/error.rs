//! Why a dump could not be read.

use std::{fmt, io};

use crate::{LimitError, json_list::Position};

/// A place in a file. Lines and columns are counted from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl At {
    pub(super) fn new(file: &str, position: Position) -> Self {
        Self {
            file: file.to_owned(),
            line: position.line + 1,
            column: position.column + 1,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column } = self;
        write!(f, "{file}:{line}:{column}")
    }
}

/// Why a dump could not be read. Quotes no value: any of them may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The system cannot read it.
    #[error("failed to read {file}: {cause}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// It exceeds a limit.
    #[error("{file}:{line}: {limit}")]
    TooLarge {
        /// The file.
        file: String,
        /// The line of what is too large, or up to which it was read.
        line: usize,
        /// The limit.
        #[source]
        limit: LimitError,
    },
    /// Its items can only be read after all of them.
    #[error(
        "{file}:{line} is a large list whose items have no kind: dump with `kubectl get clusterprofiles -A -o json`"
    )]
    LateKind {
        /// The file.
        file: String,
        /// The line.
        line: usize,
    },
    /// It is empty.
    #[error("{file} is empty: did the kubectl command that wrote it fail?")]
    Empty {
        /// The file.
        file: String,
    },
    /// The directory holds no dump.
    #[error("{path} holds no *.yaml, *.yml or *.json file (subdirectories are not searched)")]
    EmptyDirectory {
        /// The directory.
        path: String,
    },
    /// It is not UTF-8 text.
    #[error("{at} is not UTF-8 text{}", if *utf16 { ", but UTF-16, as PowerShell's `>` writes it: use `| Out-File -Encoding utf8`" } else { ": is this a dump of kubectl?" })]
    Encoding {
        /// The first byte that is not UTF-8.
        at: At,
        /// True if it looks like UTF-16.
        utf16: bool,
    },
    /// It cannot be parsed.
    #[error("{at} is not valid {language}: {message}; correct the file, or dump again")]
    Syntax {
        /// The flaw.
        at: At,
        /// `YAML` or `JSON`.
        language: &'static str,
        /// What is wrong.
        message: String,
    },
    /// It holds a number that JSON cannot hold. kubectl does not quote a text such as `1e999`.
    #[error("{0} is not a number in JSON: quote it if it is text")]
    Number(At),
    /// It is only the beginning of a dump.
    #[error("{file}:{line} ends in the middle: was kubectl interrupted? dump again")]
    CutShort {
        /// The file.
        file: String,
        /// The last line.
        line: usize,
    },
    /// It holds something other than an object.
    #[error("{file}:{line} is not a Kubernetes object: dump with `kubectl get clusterprofiles -A -o yaml`")]
    NoObject {
        /// The file.
        file: String,
        /// The line.
        line: usize,
    },
    /// It holds a malformed list.
    #[error("{file}:{line} is a malformed list: its items are not a list, or nest too deep")]
    NoList {
        /// The file.
        file: String,
        /// The line.
        line: usize,
    },
    /// It holds other kinds, and no ClusterProfile.
    #[error(
        "{name} holds no ClusterProfile (but {found}): dump with `kubectl get clusterprofiles,namespaces -A -o yaml --show-managed-fields`"
    )]
    NoProfile {
        /// The file or directory.
        name: String,
        /// What it holds, counted.
        found: String,
    },
}

impl DumpError {
    /// The error for text that cannot be parsed, with the flaw at that place.
    pub(super) fn syntax(at: At, language: &'static str, message: impl Into<String>) -> Self {
        Self::Syntax {
            at,
            language,
            message: message.into(),
        }
    }

    /// The error for a file that ends in the middle, at that place.
    pub(super) fn cut_short(file: &str, end: Position) -> Self {
        // Behind a line break, the last line is the one before.
        let line = if end.column == 0 { end.line } else { end.line + 1 };
        Self::CutShort {
            file: file.to_owned(),
            line: line.max(1),
        }
    }
}
