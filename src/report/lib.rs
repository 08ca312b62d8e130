//! Reports: one file per format, all told from the same [`Report`].
//!
//! What they quote comes from the hub, and so from whoever may write there: [`escape`] makes it harmless for the
//! place where it is to be shown.

pub mod badge;
mod coverage;
mod decision;
pub mod escape;
mod failure;
pub mod github;
pub mod html;
pub mod json;
mod json_escape;
pub mod junit;
pub mod markdown;
mod number;
mod outputs;
pub mod page;
mod place;
mod report;
pub mod sarif;
pub mod submitted;
pub mod terminal;
pub mod trials;
mod unread;
pub mod yaml;

pub use coverage::Coverage;
pub use decision::{headline, partial, scope};
pub use failure::show_findings;
pub use outputs::{Form, Output, OutputError, Outputs, Prepared};
pub use report::Report;

#[cfg(test)]
mod tests;
