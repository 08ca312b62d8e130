//! The differences between two reports.

use std::collections::BTreeSet;

use evidence::api::Edition;
use jiff::Timestamp;
use judge::{Verdict, rules};
use serde::Serialize;

use super::{
    change::{Change, changes},
    document::{Covered, Document, Entry},
};

/// What changed between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// Whether the decision or a rule got worse.
    pub worse: bool,
    /// What changed beside the rules: the decision, versions, claims, scope, waivers.
    pub head: Vec<Change>,
    /// Rules that came out otherwise, in the ledger's order.
    pub rules: Vec<RuleChange>,
}

/// A rule that came out otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleChange {
    /// Its id.
    pub rule: String,
    /// The verdict in the first; none where its edition does not have the rule.
    pub old: Option<Verdict>,
    /// The verdict in the second.
    pub new: Option<Verdict>,
    /// Whether it is worse in the second.
    pub worse: bool,
    /// What else changed of it, such as the number of violations.
    pub details: Vec<Change>,
}

/// Compares two verdicts on a rule: `better`, `worse`, or empty. A rule is better if it passes now and was violated or
/// inconclusive. A rule that no longer applies is not better.
pub(crate) fn trend(old: Verdict, new: Verdict) -> &'static str {
    if weight(old) < weight(new) {
        "worse"
    } else if new == Verdict::Pass && weight(old) > weight(Verdict::Skipped) {
        "better"
    } else {
        ""
    }
}

/// Reports on different roles have no rule in common: neither is better or worse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the reports cannot be compared: the first is on a {} (edition {old}), the second on a {} (edition {new})",
    .old.role(),
    .new.role()
)]
pub struct Incomparable {
    old: Edition,
    new: Edition,
}

/// Compares two reports on the same role, of whichever versions of the suite and editions.
///
/// # Errors
/// When they are on different roles.
pub fn diff(old: &Document, new: &Document) -> Result<Diff, Incomparable> {
    if old.edition.role() != new.edition.role() {
        return Err(Incomparable {
            old: old.edition,
            new: new.edition,
        });
    }
    let mut head: Vec<Change> = changes(&bare(old), &bare(new));
    // The decision is what matters most.
    head.sort_by_key(|change| change.at != "decision");
    let rules: Vec<RuleChange> = mentioned_rules(old, new)
        .into_iter()
        .filter_map(|rule| rule_change(&rule, old, new))
        .collect();
    Ok(Diff {
        worse: old.decision < new.decision || rules.iter().any(|rule| rule.worse),
        head,
        rules,
    })
}

/// The report without its rules, and without what differs from run to run: its time and its evidence.
fn bare(document: &Document) -> Document {
    Document {
        date: Timestamp::UNIX_EPOCH,
        scope: Covered {
            window: None,
            ..document.scope.clone()
        },
        evidence: None,
        suites: Vec::new(),
        ..document.clone()
    }
}

/// The rules in either report, in the ledger's order; rules that the ledger no longer has come last.
fn mentioned_rules(old: &Document, new: &Document) -> Vec<String> {
    let entries = old
        .suites
        .iter()
        .chain(&new.suites)
        .flat_map(|suite| suite.entries());
    let mut told: BTreeSet<&str> = entries.map(|entry| &*entry.rule).collect();
    let known = rules::all().iter().map(|rule| rule.id);
    let mut ordered: Vec<&str> = known.filter(|id| told.remove(id)).collect();
    ordered.extend(told);
    ordered.into_iter().map(str::to_owned).collect()
}

fn rule_change(rule: &str, old: &Document, new: &Document) -> Option<RuleChange> {
    let (before, after) = (entry(old, rule), entry(new, rule));
    let (was, is) = (verdict(old, rule, before), verdict(new, rule, after));
    let details: Vec<Change> = match (before, after) {
        (Some(before), Some(after)) => changes(before, after)
            .into_iter()
            .filter(|change| change.at != "verdict")
            .collect(),
        _ => Vec::new(),
    };
    (was != is || !details.is_empty()).then(|| RuleChange {
        rule: rule.to_owned(),
        old: was,
        new: is,
        worse: was.zip(is).is_some_and(|(was, is)| weight(was) < weight(is)),
        details,
    })
}

fn entry<'a>(document: &'a Document, rule: &str) -> Option<&'a Entry> {
    let mut entries = document.suites.iter().flat_map(|suite| suite.entries());
    entries.find(|entry| entry.rule == rule)
}

/// What is not told of has passed, where the report has the rule.
fn verdict(document: &Document, rule: &str, entry: Option<&Entry>) -> Option<Verdict> {
    let is_there = || rules::find(rule).is_some_and(|rule| document.has(&rule.facts));
    match entry {
        Some(entry) => Some(entry.verdict),
        None => is_there().then_some(Verdict::Pass),
    }
}

/// How bad a verdict is news: what was judged and is not any more is worse, too.
fn weight(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::NotApplicable => 0,
        Verdict::Skipped => 1,
        Verdict::Warn => 2,
        Verdict::Waived => 3,
        Verdict::Inconclusive => 4,
        Verdict::Fail => 5,
    }
}
