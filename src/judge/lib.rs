//! Rules × evidence → verdicts, and the decision.
//!
//! Judging uses no clock and no network: the same evidence always gives the same verdicts.

mod chunks;
mod decision;
mod hash;
mod judgement;
mod judging;
mod missing;
mod policed;
pub mod policies;
mod prospect;
pub mod reasons;
pub mod rules;
mod selection;
mod side_by_side;
mod subjects;
mod tally;
mod time;
mod verdict;
mod waivers;
mod waiving;
mod web_page;
mod who;

pub use decision::Decision;
pub use judgement::{Judgement, RuleVerdict};
pub use judging::{judge, unsettled};
pub use prospect::{Prospect, gained, locked, prospects};
pub use selection::Selection;
pub use tally::{Count, Outcome, Skip, Tally};
pub use verdict::Verdict;
pub use waivers::{Waiver, WaiverFlaw, WaiverOutcome, Waivers, WaiversError};
pub use waiving::decide_with;
pub use web_page::web_page;
