//! The rules: each a file of facts under `suites/` and a function of the same name in this module, in a folder for the role
//! that it is about.
//!
//! A rule is a pure function of the [`Evidence`](evidence::Evidence): no clock, no network, no state. It reports what it
//! examined and found in [`Findings`]; the judge turns that into a verdict.

/// The rules on consumers. Most are rows of expectations, without a function.
mod consumer {
    pub(super) mod expectations;
    pub(super) mod hub;
    pub(super) mod plugin;
}
pub mod example;
mod facts;
/// The rules on cluster managers.
#[deny(clippy::too_many_lines)]
mod manager {
    pub(super) mod access;
    pub(super) mod access_content;
    pub(super) mod clusters;
    pub(super) mod clustersets;
    pub(super) mod conditions;
    pub(super) mod consumers;
    pub(super) mod identity;
    pub(super) mod kubeconfigs;
    pub(super) mod lifecycle;
    pub(super) mod members;
    pub(super) mod outages;
    pub(super) mod properties;
    pub(super) mod updates;
}
mod prelude;
mod registry;
/// The rules on schedulers (KEP-5313).
#[deny(clippy::too_many_lines)]
mod scheduler {
    pub(super) mod decisions;
    pub(super) mod placements;
    pub(super) mod slices;
}
mod team;

pub use facts::{Applies, Basis, Examples, Facts, FactsError, Level};
pub(crate) use facts::{ExpectationWords, FindingWords};
pub use registry::{Rule, all, as_of, find};
pub(crate) use team::findings_of_team;

pub use crate::{
    engine::{BURST, Draw, REFILL_SECONDS, Spending, Spendings, WriteSource},
    subjects::{Finding, Findings},
};
