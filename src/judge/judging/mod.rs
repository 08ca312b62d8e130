//! Judging: examines the rules, weighs what they found, and decides.

mod examine;
mod judge;
mod prospect;
mod verdict;
mod waivers;

#[cfg(test)]
pub(crate) use judge::judge_rule;
pub use judge::{judge, judge_by, unsettled};
pub use prospect::{Prospect, Selection, locked, prospects};
pub use verdict::{Count, Decision, EditionOutcome, Extent, Judgement, Outcome, RuleVerdict, Tally, Verdict};
pub use waivers::{Waiver, WaiverOutcome, Waivers, WaiversError, decide_with, web_page};
