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
    #[error("its format is `{found}`, and this suite reads `{known}`: judge it with the suite that wrote it", known = crate::FORMAT)]
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
    /// A change or an end of an object, and no object above it.
    #[error("a change, and no profile or slice above it")]
    NoObject,
    /// A change has parts that the object above it cannot have.
    #[error("a change of another kind of object than the one above it")]
    OtherKind,
    /// An event of a log, and no record that says what the log covers.
    #[error("a request or a call, and no record above it that says what its log covers")]
    NoLog,
    /// A version without its time, in evidence of a run.
    #[error("no `at`: only a dump, whose header has no window, does not say when a version was received")]
    NoTime,
    /// A later version of an object, or its end, in evidence of a dump.
    #[error("a change in a dump: evidence of a run has a window in its header")]
    ChangeInDump,
    /// A later look at a member, and no first one.
    #[error("a `look`, and no `member` with a look above it")]
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
    /// A change refers to a writer that the version before it does not have.
    #[error("refers to writer {index} of a version that has {count}")]
    NoWriter {
        /// The writer's place, from 0.
        index: usize,
        /// How many writers that version has.
        count: usize,
    },
}
