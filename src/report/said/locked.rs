//! Evidence that was not requested and would let rules be judged.

use std::cmp::Reverse;

use evidence::Kind;
use judge::rules::Level;

use crate::{Coverage, Report};

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

/// Lists the missing kinds, those with the most MUST rules first.
pub(crate) fn locked(report: &Report) -> Vec<Locked> {
    let not_asked = Coverage::of(report).not_asked;
    let locked = judge::locked(report.judgement, report.evidence).into_iter();
    let mut locked: Vec<Locked> = locked
        .filter_map(|(kind, rules)| {
            let claim = &report.evidence.header.claim;
            let must = rules
                .iter()
                .filter(|rule| rule.facts.level_in(claim) == Some(Level::Must));
            Some(Locked {
                kind,
                reason: report.told(not_asked.get(&kind)?, None),
                rules: rules.len(),
                must: must.count(),
            })
        })
        .collect();
    locked.sort_by_key(|one| Reverse((one.must, one.rules)));
    locked
}
