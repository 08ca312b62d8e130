//! Reports: one module per format, all written from the same [`Report`].
//!
//! Reports quote text from the hub, which anyone with write access there controls. [`escape`] makes it harmless for
//! each format.

mod files;
mod formats;
pub mod html;
mod input;
mod said;
pub mod site;
mod story;
pub mod submitted;
mod text;

pub use files::{
    outputs::{Form, Output, OutputError, Outputs, Prepared},
    part::Part,
};
pub use formats::{
    badge,
    format::{FORMATS, Format},
    github, json, junit, markdown, terminal, trials,
};
pub use input::{Advice, Report, no_advice};
pub use said::{
    coverage::Coverage,
    decision::{headline, partial, scope},
    failure::show_findings,
};
pub use text::{escape, number::count, page, yaml};

/// The name of the binary, for commands that readers can copy.
pub const COMMAND: &str = "clusterprofile-conformance";

#[cfg(test)]
extern crate self as report;
#[cfg(test)]
#[path = "tests/formats/mod.rs"]
mod format_tests;
#[cfg(test)]
mod tests;
