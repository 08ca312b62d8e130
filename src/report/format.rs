//! What a format of reports is: see the table in [`FORMATS`](super::FORMATS).

use std::{cmp::Ordering, io};

use super::Report;

/// Writes a report. Fails only when the writer does.
pub type Write = fn(&Report, &mut dyn io::Write) -> io::Result<()>;
/// Writes why there is no report. Fails only when the writer does.
pub type WriteFailure = fn(&str, &mut dyn io::Write) -> io::Result<()>;

/// A format in which a run writes its report into a file. Its name is unique.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name, in lower case, with hyphens.
    pub name: &'static str,
    /// What asking for it does, for the command line's help.
    pub about: &'static str,
    /// Writes the report.
    pub write: Write,
    /// Writes why a run failed before it had evidence. Without it, the report is written: every rule is inconclusive.
    pub write_failure: Option<WriteFailure>,
    /// Whether it is appended to the file of `$GITHUB_STEP_SUMMARY`, to which other commands of the step have written.
    pub is_step_summary: bool,
}

impl Format {
    pub(super) const fn new(name: &'static str, about: &'static str, write: Write) -> Self {
        Self {
            name,
            about,
            write,
            write_failure: None,
            is_step_summary: false,
        }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

impl PartialOrd for Format {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Format {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}
