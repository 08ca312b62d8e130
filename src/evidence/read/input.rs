//! Reads an evidence file or a kubectl dump, whichever a path holds.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Cursor, Read},
    path::Path,
};

use crate::{
    Digester, Input, LimitError, Limits, dump, file,
    read::files::{exceeded, open},
};

/// Why an input could not be read. Quotes no value: any of them may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system cannot open or read it.
    #[error("failed to read {path}: {cause}")]
    Read {
        /// The path, as it was given.
        path: String,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// It exceeds a limit.
    #[error("{file}:{line}: {limit}")]
    TooLarge {
        /// The file.
        file: String,
        /// The line that is too large, or up to which the file was read.
        line: usize,
        /// The limit.
        #[source]
        limit: LimitError,
    },
    /// Its content is not that of an evidence file or a dump: the place, what is wrong there, and what to do.
    #[error("{0}")]
    Content(String),
}

impl InputError {
    /// The limit that the input exceeds, if that is what is wrong.
    pub fn limit(&self) -> Option<LimitError> {
        match self {
            InputError::TooLarge { limit, .. } => Some(*limit),
            InputError::Read { cause, .. } => exceeded(cause),
            InputError::Content(_) => None,
        }
    }
}

/// A place in a file.
#[derive(Clone, Copy)]
pub(crate) struct FilePlace<'a> {
    pub file: &'a str,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for FilePlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl FilePlace<'_> {
    /// The error for a file that exceeds a limit here.
    pub fn too_large(&self, limit: LimitError) -> InputError {
        InputError::TooLarge {
            file: self.file.to_owned(),
            line: self.line,
            limit,
        }
    }

    /// The error for a file that cannot be read on.
    pub fn unread(&self, cause: io::Error) -> InputError {
        match exceeded(&cause) {
            Some(limit) => self.too_large(limit),
            None => InputError::Read {
                path: self.file.to_owned(),
                cause,
            },
        }
    }

    /// The error for content that is wrong here.
    pub fn content(&self, message: impl fmt::Display) -> InputError {
        InputError::Content(format!("{self}{message}"))
    }
}

/// Reads an evidence file or a kubectl dump within the usual limits: see [`read_input_bounded`].
pub fn read_input(path: &Path, digester: &Digester) -> Result<Input, InputError> {
    read_input_bounded(path, digester, &Limits::default())
}

/// Reads an evidence file or a kubectl dump: a file, a directory (a dump: its `*.yaml`, `*.yml` and `*.json`), or `-`
/// for standard input. The content decides which it is, and whether it is compressed.
pub fn read_input_bounded(path: &Path, digester: &Digester, limits: &Limits) -> Result<Input, InputError> {
    if path.is_dir() {
        return dump::read_directory(path, digester, limits);
    }
    let path_text = path.display().to_string();
    let name = match path.to_str() {
        Some("-") => "standard input",
        _ => &path_text,
    };
    let unread = |cause| InputError::Read {
        path: name.to_owned(),
        cause,
    };
    let mut reader = open(path, limits).map_err(unread)?;
    let (head, is_evidence) = file::peek(&mut reader).map_err(unread)?;
    let reader = Cursor::new(head).chain(reader);
    if is_evidence {
        file::read_from(reader, name, limits)
    } else {
        dump::read_from(reader, name, digester, limits)
    }
}

/// The largest number of kinds that are counted by name.
const KINDS: usize = 1000;
/// The most characters of a kind with its group.
const LONGEST_KIND: usize = 320;

/// What a reader ignored, counted by kind.
#[derive(Default)]
pub(crate) struct Counts(BTreeMap<String, usize>);

impl Counts {
    pub fn add(&mut self, what: &str) {
        let mut what: String = what.chars().take(LONGEST_KIND).collect();
        if self.0.len() >= KINDS && !self.0.contains_key(&what) {
            what = "another kind".to_owned();
        }
        *self.0.entry(what).or_default() += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts, for example `2 × Pod, 1 × Secret`; the first of many kinds.
    pub fn summary(&self) -> String {
        const SHOWN: usize = 20;
        let entries = self.0.iter().take(SHOWN);
        let mut counts: Vec<String> = entries.map(|(what, count)| format!("{count} × {what}")).collect();
        let more: usize = self.0.values().skip(SHOWN).sum();
        if more > 0 {
            counts.push(format!("{more} of other kinds"));
        }
        counts.join(", ")
    }
}
