//! What to fix, the first thing on the page: each broken rule in a line with its remedy, then what more evidence would
//! judge.

use std::collections::BTreeSet;

use judge::{
    RuleVerdict, Verdict,
    rules::{Basis, Level},
};

use super::{
    sign::{self, Sign},
    text::shown,
};
use crate::{
    Report,
    said::locked::{Locked, locked},
    text::number::count,
};

/// What an implementer has to do, and what the reader could ask for.
pub(super) struct Mend<'a> {
    /// Rules that fail, MUST first.
    pub(super) failing: Vec<Broken<'a>>,
    /// Rules that warn.
    pub(super) warning: Vec<Broken<'a>>,
    /// Evidence that was not requested and would unlock rules, the most MUST rules first.
    pub(super) locked: Vec<LockedView>,
}

/// A broken rule.
pub(super) struct Broken<'a> {
    pub(super) id: &'a str,
    pub(super) sign: Sign,
    pub(super) level: Level,
    pub(super) basis: Basis,
    pub(super) title: &'a str,
    pub(super) remedy: &'a str,
    /// How many objects break it.
    pub(super) objects: String,
}

/// Evidence that was not requested.
pub(super) struct LockedView {
    pub(super) rules: String,
    pub(super) kind: &'static str,
    pub(super) reason: String,
}

impl<'a> Mend<'a> {
    /// Reads it off the judgement.
    pub(super) fn of(report: &Report<'a>) -> Self {
        let broken = |verdict: Verdict| {
            let mut broken: Vec<Broken> = report
                .judgement
                .verdicts
                .iter()
                .filter(|one| one.verdict == verdict)
                .map(Broken::of)
                .collect();
            broken.sort_by_key(|one| (one.level, one.basis));
            broken
        };
        Self {
            failing: broken(Verdict::Fail),
            warning: broken(Verdict::Warn),
            locked: locked(report).iter().map(LockedView::of).collect(),
        }
    }
}

impl<'a> Broken<'a> {
    fn of(verdict: &'a RuleVerdict) -> Self {
        let facts = &verdict.rule.facts;
        let objects: BTreeSet<_> = verdict
            .findings
            .iter()
            .map(|finding| finding.object.to_string())
            .collect();
        Self {
            id: verdict.rule.id,
            sign: sign::of(verdict.verdict),
            level: verdict.level(),
            basis: verdict.basis(),
            title: &facts.title,
            remedy: &facts.remedy,
            objects: count(objects.len(), "object"),
        }
    }
}

impl LockedView {
    fn of(locked: &Locked) -> Self {
        Self {
            rules: format!(
                "{} more, {} of them MUST",
                count(locked.rules, "rule"),
                locked.must
            ),
            kind: locked.kind.name(),
            reason: shown(&locked.reason),
        }
    }
}
