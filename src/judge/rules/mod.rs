//! The rules: each a file of facts under `suites/` and a function of the same name in this module, in a folder for the role
//! that it is about.
//!
//! A rule is a pure function of the [`Evidence`](evidence::Evidence): no clock, no network, no state. It reports what it
//! examined and found in [`Findings`]; the judge turns that into a verdict.

pub(crate) mod consumer;
pub mod example;
mod facts;
#[deny(clippy::too_many_lines)]
mod manager;
mod prelude;
mod registry;
#[deny(clippy::too_many_lines)]
mod scheduler;

pub use facts::{Applies, Basis, Examples, Facts, FactsError, Level};
pub(crate) use facts::{ExpectationWords, FindingWords};
pub use registry::{Rule, all, as_of, find};

pub use crate::{
    engine::{BURST, Draw, REFILL_SECONDS, Source, Spending, Spendings},
    subjects::{Conclusion, Finding, Findings},
};
