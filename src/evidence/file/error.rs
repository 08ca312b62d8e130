//! Why an evidence file could not be read.

use std::io;

use jiff::Timestamp;

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
        /// What is wrong with it.
        #[source]
        flaw: LineError,
    },
}

/// What is wrong with one line of an evidence file. Quotes no value: any of them may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// It is not JSON, or its record has another shape.
    #[error("{0}")]
    Shape(String),
    /// A record follows the end.
    #[error("a record after the end: are these two files in one?")]
    AfterEnd,
    /// The header is not the first line, or not the only one.
    #[error("a second header: are these two files in one?")]
    SecondHeader,
    /// A patch or a deletion without an object above it.
    #[error("`patch` or `deleted` without a `profile` or `placementDecision` above it")]
    NoObject,
    /// An event of a log, and no record that says what the log covers.
    #[error("a request or a call, and no record above it that says what its log covers")]
    NoLog,
    /// A version without its time, in evidence of a run.
    #[error("no `at`: only a dump, whose header has no window, does not say when a version was received")]
    NoTime,
    /// A later version of an object, or its end, in evidence of a dump.
    #[error("`patch` or `deleted` in a dump: evidence of a run has a window in its header")]
    ChangeInDump,
    /// A later sample of a member without a first one.
    #[error("`memberSample` without a `member` with a sample above it")]
    NoMember,
    /// A window ends before it begins.
    #[error("{what} ends before it begins: it is from {from} until {until}")]
    Backwards {
        /// Which window.
        what: &'static str,
        /// Its beginning.
        from: Timestamp,
        /// Its end.
        until: Timestamp,
    },
    /// A window ends at a time that no clock of a run shows.
    #[error("{what} ends in another age, at {until}: no run has seen that time")]
    OtherAge {
        /// Which window.
        what: &'static str,
        /// Its end.
        until: Timestamp,
    },
}
