//! Reports: one module per format, all written from the same [`Report`].
//!
//! Reports quote text from the hub, which anyone with write access there controls. [`escape`] makes it harmless for
//! each format.

mod files;
mod formats;
pub mod html;
mod input;
pub mod site;
mod story;
pub mod submitted;
mod summary;
mod text;

pub use files::{FileFormat, OutputError, OutputFile, OutputFiles, Part, prepare};
pub use formats::{badge, github, json, junit, markdown, terminal};
pub use input::{Advice, Coverage, Report};
pub use summary::{
    EditionDecision, by_edition,
    decision::{headline, kind_in_words, no_status, scope},
    findings::show_findings,
};
pub use text::{count, escape, page, yaml};

/// The version of the suite.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The name of the binary, for commands that readers can copy.
pub const COMMAND: &str = "clusterprofile-conformance";

/// Files leave out a number that is zero.
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
extern crate self as report;
#[cfg(test)]
#[path = "tests/formats/mod.rs"]
mod format_tests;
#[cfg(test)]
mod tests;
