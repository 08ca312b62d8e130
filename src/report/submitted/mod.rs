//! The report that an implementer submits: what was judged, how it came out, and by which evidence anybody can judge it
//! again. It is for the public, so no object of the hub is named in it: the evidence tells which ones.

mod change;
mod compose;
mod diff;
mod document;
mod fitness;
mod matrix;
mod merge;
mod outcome;
mod public;
mod read;
mod sound;
#[cfg(test)]
mod tests;
mod verify;

use std::io;

pub use change::Change;
pub use compose::compose;
pub use diff::{Diff, RuleChange, diff};
pub use document::{
    Claimed, Covered, Document, Entry, Group, Judged, KIND, Kept, Picked, Span, SuiteResult, Waived,
};
use evidence::Checksum;
pub use fitness::{disagreements, unfit};
pub use matrix::write_document as write_matrix_of;
pub use merge::{MergeError, merge};
pub use read::ReadError;
pub use sound::Unsound;
pub use verify::{Held, Verified, verify};

use super::Report;

/// Writes the report. Fails only when `into` does. `sum` is that of the evidence file, where one was kept.
pub fn write(report: &Report, sum: Option<&Checksum>, into: impl io::Write) -> io::Result<()> {
    compose(report, sum).write(into)
}

/// Writes it in the shape that the SIG's matrix of implementations is made from. Fails only when `into` does.
pub fn write_matrix(report: &Report, into: impl io::Write) -> io::Result<()> {
    matrix::write(&compose(report, None), &compose::entries(report), into)
}
