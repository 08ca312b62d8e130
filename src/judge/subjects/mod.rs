//! What rules are about, and what they report of it.

mod finding;
mod profiles;
pub(crate) mod sets;

pub(crate) use finding::Length;
pub use finding::{Conclusion, Finding, Findings, Unlisted};
pub(crate) use profiles::has_status;
