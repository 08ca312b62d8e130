//! The formats of a report, one module each.

pub mod badge;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod terminal;

use std::io;

use crate::{Report, html};

/// A format in which a run writes its report into a file, in addition to the evidence and the report to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// JUnit, for CI systems.
    Junit,
    /// One HTML file, for people.
    Html,
    /// Markdown, for pull requests and job summaries.
    Markdown,
    /// The decision as a picture.
    Badge,
    /// JSON, for programs.
    Json,
}

/// The formats, in the order of the help.
pub const FORMATS: [Format; 5] = [
    Format::Junit,
    Format::Html,
    Format::Markdown,
    Format::Badge,
    Format::Json,
];

impl Format {
    /// The name: lower case, with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Badge => "badge",
            Self::Json => "json",
        }
    }

    /// Writes the report. Fails only when `into` does.
    pub fn write(self, report: &Report, into: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Self::Junit => junit::write(report, into),
            Self::Html => html::write(report, into),
            Self::Markdown => markdown::write(report, into),
            Self::Badge => badge::write(report, into),
            Self::Json => json::write(report, into),
        }
    }
}
