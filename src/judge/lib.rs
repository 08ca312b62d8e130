//! Rules × evidence → verdicts, and the decision.
//!
//! Judging uses no clock and no network: the same evidence always gives the same verdicts.
//!
//! From below: times and intervals ([`time`], [`timeline`]); findings ([`subjects`]); the evaluators that call rule functions
//! ([`engine`]); the rules, suite by suite, and their registry ([`rules`]); verdicts and the decision ([`judging`]).

// Tests inside and outside of the crate share code.
#[cfg(test)]
extern crate self as judge;

mod engine;
/// Maps and sets. Their hasher takes a fraction of the standard one's time, and has a seed of its own for each of them, so that
/// no client can write keys whose hashes collide.
mod hash {
    use std::collections;

    use foldhash::fast::RandomState;

    /// A map that is made by `default`.
    pub(crate) type HashMap<K, V> = collections::HashMap<K, V, RandomState>;

    /// A set that is made by `default`.
    pub(crate) type HashSet<K> = collections::HashSet<K, RandomState>;
}

mod judging;
pub mod reasons;
pub mod rules;
mod subjects;
mod text;
mod time;
mod timeline;

pub use engine::{HistoryWriters, WriterList, WriterNames, writers};
pub use judging::{
    Count, Decision, EditionOutcome, Extent, Judgement, Outcome, Prospect, RuleVerdict, Selection, Tally,
    Verdict, Waiver, WaiverOutcome, Waivers, WaiversError, decide_with, judge, judge_by, locked, prospects,
    unsettled, web_page,
};
