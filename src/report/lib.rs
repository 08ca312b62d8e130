//! Reports: one file per format, all told from the same [`Report`].
//!
//! What they quote comes from the hub, and so from whoever may write there: [`inert`] makes it harmless for the
//! place where it is to be shown.

pub mod badge;
mod coverage;
mod decision;
mod failure;
pub mod github;
pub mod html;
pub mod inert;
pub mod json;
pub mod junit;
pub mod markdown;
mod number;
mod outputs;
pub mod page;
mod place;
pub mod sarif;
pub mod submitted;
pub mod terminal;
pub mod trials;
mod unread;
mod visible;
pub mod yaml;

pub use coverage::Coverage;
pub use decision::{headline, partial, scope};
use evidence::Evidence;
pub use failure::show_findings;
use jiff::Timestamp;
use judge::{Judgement, Selection};
pub use outputs::{Form, Output, OutputError, Outputs, Prepared};

/// Everything that a report tells.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What was seen.
    pub evidence: &'a Evidence,
    /// What was judged from it.
    pub judgement: &'a Judgement,
    /// Which rules the user picked.
    pub selection: &'a Selection,
    /// When it was judged.
    pub judged_at: Timestamp,
    /// The file that holds the evidence, where there is one: the one that was read or the one that is recorded.
    pub file: Option<&'a str>,
}

#[cfg(test)]
mod tests;
