//! The rules: each a file of facts under `suites/` and a function of the same name in this module.
//!
//! A rule is a pure function of the [`Evidence`](evidence::Evidence): no clock, no network, no state. It reports what it
//! examined and found in [`Findings`]; the judge turns that into a verdict.

mod access;
mod clustersets;
mod conditions;
mod consumers;
pub mod example;
mod examples_text;
mod facts;
mod identity;
mod lifecycle;
mod placement_labels;
mod placement_lifecycle;
mod placement_ownership;
mod placement_references;
mod placement_slices;
mod placement_updates;
mod policy;
mod properties;
mod registry;
mod updates;
mod version;

pub use examples_text::Examples;
pub use facts::{Applies, Basis, Facts, FactsError, Level};
pub use policy::{Expected, Operation, PolicyFacts, Resource};
pub use registry::{Rule, all, as_of, find};
pub use updates::{Draw, Source, Spending, Spendings};

pub use crate::{
    shared::bucket::{BURST, REFILL_SECONDS},
    subjects::{Conclusion, Finding, Findings, Unlisted},
};
