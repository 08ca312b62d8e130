//! Evidence that was not requested and would let rules be judged.

use std::{cmp::Reverse, collections::BTreeMap};

use evidence::Kind;
use judge::{DESELECTED, RuleVerdict, Verdict, rules::Level};

use super::{Coverage, Report};

/// A kind of evidence that was not requested, and the rules that were skipped for want of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Locked {
    pub(crate) kind: Kind,
    /// Why it is missing, and how to get it.
    pub(crate) reason: String,
    /// How many rules it would unlock, and how many of them are MUST rules.
    pub(crate) rules: usize,
    pub(crate) must: usize,
}

/// Lists the missing kinds, those with the most MUST rules first. A rule that needs one of two kinds counts for both.
pub(crate) fn locked(report: &Report) -> Vec<Locked> {
    let not_asked = Coverage::of(report).not_asked;
    let mut levels: BTreeMap<Kind, Vec<Level>> = BTreeMap::new();
    let is_skipped = |verdict: &&RuleVerdict| {
        verdict.verdict == Verdict::Skipped && verdict.reason.as_deref() != Some(DESELECTED)
    };
    for verdict in report.judgement.verdicts.iter().filter(is_skipped) {
        let facts = &verdict.rule.facts;
        let is_missing = |kind: &&Kind| not_asked.contains_key(kind);
        let either = facts.needs_one_of.iter().filter(is_missing);
        let kinds = match facts.needs.iter().find(is_missing) {
            Some(kind) => vec![*kind],
            None => either.copied().collect(),
        };
        for kind in kinds {
            levels.entry(kind).or_default().push(facts.level);
        }
    }
    let mut locked: Vec<Locked> = levels
        .into_iter()
        .map(|(kind, levels)| Locked {
            kind,
            reason: not_asked[&kind].clone(),
            rules: levels.len(),
            must: levels.iter().filter(|level| **level == Level::Must).count(),
        })
        .collect();
    locked.sort_by_key(|one| Reverse((one.must, one.rules)));
    locked
}
