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
pub mod github;
pub mod html;
pub mod json;
mod json_escape;
pub mod junit;
mod locked;
pub mod markdown;
mod number;
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
pub use number::count;
pub use outputs::{Form, Output, OutputError, Outputs, Prepared};
pub use part::Part;
pub use report::Report;

/// The name of the binary, for commands that readers can copy.
pub const COMMAND: &str = "clusterprofile-conformance";

#[cfg(test)]
mod tests;
