//! The report that an implementer submits: the verdicts, and a digest of the evidence for judging again. It is public, so
//! names of the hub's objects are only in the evidence.

mod check;
mod compose;
mod diff;
mod document;
mod folder;
mod obstacles;
#[cfg(test)]
mod tests;

use std::io;

use evidence::Checksum;

pub(crate) use self::diff::trend;
pub use self::{
    check::{Check, Fitness, Held, Proof, judge_again},
    compose::compose,
    diff::{Change, Diff, Incomparable, RuleChange, diff},
    document::{Covered, Document, Entry, Group, Judged, KIND, Kept, ReadError, SuiteResult},
    folder::{Submission, Unreadable, comment},
    obstacles::obstacles,
};
use crate::Report;

/// Writes the report of a run. Fails only when `into` does. `sum` is the checksum of the evidence file, if there is one.
pub fn write(report: &Report, sum: Option<&Checksum>, into: impl io::Write) -> io::Result<()> {
    compose(report, sum).write(into)
}
