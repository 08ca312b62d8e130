//! What a format of reports is: see the table in [`FORMATS`].

use std::{cmp::Ordering, io};

use super::{badge, json, junit, markdown};
use crate::{Report, html};

/// Writes a report. Fails only when the writer does.
pub type Write = fn(&Report, &mut dyn io::Write) -> io::Result<()>;

/// A format in which a run writes its report into a file. Its name is unique.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name, in lower case, with hyphens.
    pub name: &'static str,
    /// What asking for it does, for the command line's help.
    pub about: &'static str,
    /// Writes the report.
    pub write: Write,
    /// Whether it is appended to the file of `$GITHUB_STEP_SUMMARY`, to which other commands of the step have written.
    pub is_step_summary: bool,
}

impl Format {
    pub(crate) const fn new(name: &'static str, about: &'static str, write: Write) -> Self {
        Self {
            name,
            about,
            write,
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

/// The formats that a run writes into files, in addition to the evidence and the report to submit. The flags of `run`, `replay`
/// and `doctor`, the keys of the configuration, and what is written follow from this table: a new format is a module and
/// an entry here. The order is that of the help.
pub const FORMATS: &[Format] = &[
    Format::new("junit", "Write a JUnit report", |report, into| {
        junit::write(report, into)
    }),
    Format::new(
        "html",
        "Write an HTML report: one self-contained file, with drawings of the watch",
        |report, into| html::write(report, into),
    ),
    Format {
        is_step_summary: true,
        ..Format::new(
            "markdown",
            "Write a Markdown report; $GITHUB_STEP_SUMMARY is appended to",
            |report, into| markdown::write(report, into),
        )
    },
    Format::new(
        "badge",
        "Write the decision as a badge (SVG), for a README",
        |report, into| badge::write(report, into),
    ),
    Format::new("json", "Write a JSON report", |report, into| {
        json::write(report, into)
    }),
];
