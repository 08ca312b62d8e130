//! Reports: one module per format, all written from the same [`Report`].
//!
//! Reports quote text from the hub, which anyone with write access there controls. [`escape`] makes it harmless for
//! each format.

pub mod badge;
mod cost;
mod coverage;
mod decision;
pub mod escape;
mod failure;
mod format;
pub mod github;
pub mod html;
pub mod json;
mod json_escape;
pub mod junit;
mod locked;
pub mod markdown;
mod number;
mod of_edition;
mod outputs;
pub mod page;
mod part;
mod place;
mod policed;
mod report;
pub mod sarif;
mod shared;
pub mod site;
mod sources;
pub mod submitted;
pub mod terminal;
pub mod termination_message;
pub mod trials;
mod unread;
pub mod yaml;

pub use coverage::Coverage;
pub use decision::{headline, partial, scope};
pub use failure::show_findings;
pub use format::Format;
pub use number::count;
pub use outputs::{Form, Output, OutputError, Outputs, Prepared};
pub use part::Part;
pub use report::{Advice, Report, no_advice};

/// The name of the binary, for commands that readers can copy.
pub const COMMAND: &str = "clusterprofile-conformance";

/// The formats that a run writes into files, beside the evidence and the report to submit. The flags of `run`, `replay`
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
        "sarif",
        "Write a SARIF report, for code scanning",
        |report, into| sarif::write(report, into),
    ),
    Format::new(
        "badge",
        "Write the decision as a badge (SVG), for a README",
        |report, into| badge::write(report, into),
    ),
    Format {
        write_failure: Some(|told, into| termination_message::write_failure(told, into)),
        ..Format::new(
            "termination-message",
            "Write the decision and its reasons in at most 4096 bytes, for /dev/termination-log in a Pod",
            |report, into| termination_message::write(report, into),
        )
    },
    Format::new("json", "Write a JSON report", |report, into| {
        json::write(report, into)
    }),
];

#[cfg(test)]
mod tests;
