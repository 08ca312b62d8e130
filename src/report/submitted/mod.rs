//! The report that an implementer submits: the verdicts, and a digest of the evidence for judging again. It is public, so
//! names of the hub's objects are only in the evidence.

mod check;
mod compose;
mod diff;
mod document;
mod obstacles;
#[cfg(test)]
mod tests;

pub(crate) use self::diff::trend;
pub use self::{
    check::{Check, Fitness, Held, Proof, UnreadableFolder, judge_again},
    compose::compose,
    diff::{Diff, RuleChange, diff},
    document::{
        ConformanceReport, Covered, EvidenceFile, GroupResult, KIND, ReportError, RuleEntry, RuleGroup,
        SuiteResult,
    },
};
pub use crate::text::difference::FieldDifference;
