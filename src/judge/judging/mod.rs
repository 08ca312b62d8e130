//! Judging: examines the rules, weighs what they found, and decides.

mod chunks;
mod decision;
mod judge;
mod judgement;
mod mismatch;
mod missing;
mod prospect;
mod selection;
mod side_by_side;
mod tally;
mod unsettled;
mod verdict;
mod waivers;
mod waiving;
mod web_page;

pub use decision::{Decision, Extent};
pub use judge::judge;
#[cfg(test)]
pub(crate) use judge::judge_rule;
pub use judgement::{Judgement, Part, RuleVerdict};
pub use mismatch::mismatch;
pub use prospect::{Prospect, gained, locked, prospects};
pub use selection::Selection;
pub use tally::{Count, Outcome, Tally};
pub use unsettled::unsettled;
pub use verdict::Verdict;
pub use waivers::{Waiver, WaiverFlaw, WaiverOutcome, Waivers, WaiversError};
pub use waiving::decide_with;
pub use web_page::web_page;
