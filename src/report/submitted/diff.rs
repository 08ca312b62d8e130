//! The differences between two reports.

use std::collections::BTreeSet;

use judge::{Verdict, rules};
use serde::Serialize;

use super::document::{ConformanceReport, ReportError, RuleEntry};
use crate::text::difference::{FieldDifference, Masked, differences, leads};

/// All that differs between two values of one type, in the order of the parts.
pub(super) fn changes(old: &impl Serialize, new: &impl Serialize) -> Vec<FieldDifference> {
    let old = serde_json::to_value(old).unwrap_or_default();
    let new = serde_json::to_value(new).unwrap_or_default();
    differences(Some(Masked::plain(&old)), Masked::plain(&new))
}

/// What changed between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Whether the decision or a rule got worse.
    pub worse: bool,
    /// What changed except the rules: the decision, versions, claims, scope, waivers.
    pub head: Vec<FieldDifference>,
    /// Rules whose verdict or counts changed, by id.
    pub rules: Vec<RuleChange>,
}

/// A rule whose verdict or counts changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleChange {
    /// Its id.
    pub rule: String,
    /// The verdict in the first report; `None` if its edition does not have the rule.
    pub old: Option<Verdict>,
    /// The verdict in the second report.
    pub new: Option<Verdict>,
    /// Whether it is worse in the second report.
    pub worse: bool,
    /// What else changed, for example the number of violations.
    pub details: Vec<FieldDifference>,
}

/// What differs from run to run, and the rules, which are compared one by one.
const NOT_IN_HEAD: [&str; 4] = ["date", "evidence", "scope.window", "suites"];

/// Compares two reports on the same role, of any versions of the suite and any editions.
///
/// # Errors
/// When they are on different roles: then they have no rule in common.
pub fn diff(old: &ConformanceReport, new: &ConformanceReport) -> Result<Diff, ReportError> {
    if old.edition.role() != new.edition.role() {
        let [first, second] = [old, new]
            .map(|document| format!("on a {} (edition {})", document.edition.role(), document.edition));
        return Err(ReportError(format!(
            "the reports cannot be compared: the first is {first}, the second {second}"
        )));
    }
    let mut head = changes(old, new);
    head.retain(|change| !NOT_IN_HEAD.iter().any(|part| leads(part, &change.at)));
    // The decision is what matters most.
    head.sort_by_key(|change| change.at != "decision");
    let entries = old.listed().chain(new.listed());
    let ids: BTreeSet<&str> = entries.map(|entry| &*entry.rule).collect();
    let rules = ids.into_iter().filter_map(|id| rule_change(id, old, new));
    let rules: Vec<RuleChange> = rules.collect();
    Ok(Diff {
        worse: old.decision < new.decision || rules.iter().any(|rule| rule.worse),
        head,
        rules,
    })
}

fn rule_change(id: &str, old: &ConformanceReport, new: &ConformanceReport) -> Option<RuleChange> {
    let [before, after] = [old, new].map(|document| document.listed().find(|entry| entry.rule == id));
    let (was, is) = (verdict(old, id, before), verdict(new, id, after));
    let mut details = match (before, after) {
        (Some(before), Some(after)) => changes(before, after),
        _ => Vec::new(),
    };
    details.retain(|change| change.at != "verdict");
    (was != is || !details.is_empty()).then(|| RuleChange {
        rule: id.to_owned(),
        old: was,
        new: is,
        worse: was.zip(is).is_some_and(|(was, is)| weight(was) < weight(is)),
        details,
    })
}

/// A rule that the report has and does not list has passed.
fn verdict(document: &ConformanceReport, id: &str, entry: Option<&RuleEntry>) -> Option<Verdict> {
    let has_rule = || rules::find(id).is_some_and(|rule| document.has(&rule.facts));
    match entry {
        Some(entry) => Some(entry.verdict),
        None => has_rule().then_some(Verdict::Pass),
    }
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

/// How bad a verdict is. A rule that was judged and no longer is, is worse.
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
