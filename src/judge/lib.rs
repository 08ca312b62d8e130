//! Rules × evidence → verdicts, and the decision.
//!
//! Judging uses no clock and no network: the same evidence always gives the same verdicts.
//!
//! From below: when ([`time`]) and who ([`who`]); what rules are about and report ([`subjects`]); what several suites share
//! ([`shared`]); the rules themselves, suite by suite, and their registry ([`rules`]); what comes of them ([`judging`]). No
//! module knows one above it.

#[allow(dead_code, unused_imports, reason = "the rules move to it one by one")]
mod engine;
mod hash;
mod judging;
pub mod reasons;
pub mod rules;
mod shared;
mod subjects;
mod text;
mod time;
#[allow(dead_code, reason = "the rules move to it one by one")]
mod timeline;
mod who;

pub use engine::{WriterList, writers};
pub use judging::{
    Count, Decision, Extent, Judgement, Outcome, Part, Prospect, RuleVerdict, Selection, Tally, Verdict,
    Waiver, WaiverFlaw, WaiverOutcome, Waivers, WaiversError, decide_with, gained, judge, locked, mismatch,
    prospects, unsettled, web_page,
};
pub use who::Authors;
