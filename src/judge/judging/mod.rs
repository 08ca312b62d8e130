//! Judging: examines the rules, weighs what they found, and decides.

mod judge;
mod judgement;
mod missing;
mod prospect;
mod verdict;
mod waivers;

#[cfg(test)]
pub(crate) use judge::judge_rule;
pub use judge::{judge, unsettled};
pub use judgement::{Judgement, Part, RuleVerdict};
pub use prospect::{Prospect, Selection, gained, locked, prospects};
pub use verdict::{Count, Decision, Extent, Outcome, Tally, Verdict};
pub use waivers::{Waiver, WaiverOutcome, Waivers, WaiversError, decide_with, web_page};
