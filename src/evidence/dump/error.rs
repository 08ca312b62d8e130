//! Why a dump could not be read.

use std::io;

use crate::LimitError;

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
    #[error("{file}:{line} is not UTF-8 text{}", if *utf16 { ", but UTF-16, as PowerShell's `>` writes it: use `| Out-File -Encoding utf8`" } else { ": is this a dump of kubectl?" })]
    Encoding {
        /// The file.
        file: String,
        /// The first line that is not UTF-8.
        line: usize,
        /// True if it looks like UTF-16.
        utf16: bool,
    },
    /// It cannot be parsed.
    #[error("{file}:{line} is not valid {language}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// `YAML` or `JSON`.
        language: &'static str,
        /// What is wrong.
        message: String,
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
