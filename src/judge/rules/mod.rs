//! The rules: each a file of facts under `suites/` and a function of the same name in this module.
//!
//! A rule is a pure function of the [`Evidence`](evidence::Evidence): no clock, no network, no state. It reports what it
//! examined and found in [`Findings`]; the judge turns that into a verdict.

mod access;
mod answer;
mod bucket;
mod clocks;
mod clustersets;
mod conditions;
mod consumers;
pub mod example;
mod examples_text;
mod facts;
mod finding;
mod held_against;
mod identity;
mod lasted;
mod leak_search;
mod lifecycle;
mod member;
mod misspelling;
mod pairs;
mod placement;
mod placement_labels;
mod placement_lifecycle;
mod placement_ownership;
mod placement_references;
mod placement_slices;
mod placement_updates;
mod policy;
mod presence;
mod properties;
mod registry;
mod same_cluster;
mod sets;
mod state;
mod text;
mod updates;
mod version;
mod writes;

pub use bucket::{BURST, REFILL_SECONDS};
pub use examples_text::Examples;
pub use facts::{Applies, Basis, Facts, FactsError, Level};
pub use finding::{Conclusion, Finding, Findings};
pub(crate) use held_against::excuse;
pub use policy::{Expected, Operation, PolicyFacts, Resource};
pub use registry::{Rule, all, as_of, find};
pub(crate) use text::counted;
pub use updates::{Draw, Source, Spending, Spendings};

use crate::who::{authors, logged, publisher};
