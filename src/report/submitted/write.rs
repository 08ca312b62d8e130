//! Writing the report of a run.

use std::io;

use evidence::Checksum;

use super::{
    compose::{compose, entries},
    matrix,
};
use crate::Report;

/// Writes the report. Fails only when `into` does. `sum` is that of the evidence file, where one was kept.
pub fn write(report: &Report, sum: Option<&Checksum>, into: impl io::Write) -> io::Result<()> {
    compose(report, sum).write(into)
}

/// Writes it in the input format of the SIG's matrix of implementations. Fails only when `into` does.
pub fn write_matrix(report: &Report, into: impl io::Write) -> io::Result<()> {
    matrix::write(&compose(report, None), &entries(report), into)
}
