//! What rules report.

mod finding;
mod findings;
pub(crate) mod sets;

pub use finding::Finding;
pub(crate) use findings::Length;
pub use findings::{Conclusion, Findings};
