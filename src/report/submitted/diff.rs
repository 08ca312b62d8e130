//! The differences between two reports.

use std::collections::BTreeSet;

use jiff::Timestamp;
use judge::{Verdict, rules};
use serde::Serialize;
use serde_json::Value;

use super::document::{Covered, Document, Entry};
use crate::text::difference::{Masked, differences};

/// One part that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The path, such as `suites[identity].core.statistics.passed`.
    pub at: String,
    /// The value in the first report, if it has the part.
    pub old: Option<Value>,
    /// The value in the second report, if it has the part.
    pub new: Option<Value>,
}

impl Change {
    /// The value in the first report, for people.
    pub fn old_text(&self) -> String {
        text(self.old.as_ref())
    }

    /// The value in the second report, for people.
    pub fn new_text(&self) -> String {
        text(self.new.as_ref())
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        // A whole entry is too long for a line.
        Some(value) => match value["verdict"].as_str() {
            Some(verdict) => format!("an entry with verdict {verdict}"),
            None => value.to_string(),
        },
    }
}

/// All that differs between two values of one type, in the order of the parts.
pub(super) fn changes(old: &impl Serialize, new: &impl Serialize) -> Vec<Change> {
    let old = serde_json::to_value(old).unwrap_or_default();
    let new = serde_json::to_value(new).unwrap_or_default();
    let differences = differences(Some(Masked::plain(&old)), Masked::plain(&new));
    let changes = differences.into_iter().map(|difference| Change {
        at: difference.path,
        old: difference.before.cloned(),
        new: difference.after.cloned(),
    });
    let mut changes: Vec<Change> = changes.collect();
    if changes.is_empty() && old != new {
        // Only the order of a list differs.
        changes.push(Change {
            at: String::new(),
            old: Some(old),
            new: Some(new),
        });
    }
    changes
}

/// What changed between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// Whether the decision or a rule got worse.
    pub worse: bool,
    /// What changed except the rules: the decision, versions, claims, scope, waivers.
    pub head: Vec<Change>,
    /// Rules whose verdict or counts changed, by id.
    pub rules: Vec<RuleChange>,
}

/// A rule whose verdict or counts changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleChange {
    /// Its id.
    pub rule: String,
    /// The verdict in the first report; `None` if its edition does not have the rule.
    pub old: Option<Verdict>,
    /// The verdict in the second report.
    pub new: Option<Verdict>,
    /// Whether it is worse in the second report.
    pub worse: bool,
    /// What else changed, such as the number of violations.
    pub details: Vec<Change>,
}

/// Reports on different roles have no rule in common: neither is better or worse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reports cannot be compared: {0}")]
pub struct Incomparable(String);

/// Compares two reports on the same role, of any versions of the suite and any editions.
///
/// # Errors
/// When they are on different roles.
pub fn diff(old: &Document, new: &Document) -> Result<Diff, Incomparable> {
    if old.edition.role() != new.edition.role() {
        let [first, second] = [old, new]
            .map(|document| format!("on a {} (edition {})", document.edition.role(), document.edition));
        return Err(Incomparable(format!("the first is {first}, the second {second}")));
    }
    let mut head: Vec<Change> = changes(&bare(old), &bare(new));
    // The decision is what matters most.
    head.sort_by_key(|change| change.at != "decision");
    let listed = old.listed().chain(new.listed());
    let ids: BTreeSet<&str> = listed.map(|entry| &*entry.rule).collect();
    let rules: Vec<RuleChange> = ids
        .into_iter()
        .filter_map(|id| rule_change(id, old, new))
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

fn rule_change(id: &str, old: &Document, new: &Document) -> Option<RuleChange> {
    let (before, after) = (entry(old, id), entry(new, id));
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

fn entry<'a>(document: &'a Document, id: &str) -> Option<&'a Entry> {
    document.listed().find(|entry| entry.rule == id)
}

/// A rule that the report has and does not list has passed.
fn verdict(document: &Document, id: &str, entry: Option<&Entry>) -> Option<Verdict> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_differences_are_listed() {
        let old = json!({"a": 1, "list": [{"rule": "x", "n": 1}, {"rule": "y"}], "tags": ["b"]});
        let new = json!({"list": [{"rule": "y"}, {"rule": "x", "n": 2}], "tags": ["b", "c"]});
        let listed: Vec<String> = changes(&old, &new)
            .iter()
            .map(|change| format!("{}: {} -> {}", change.at, change.old_text(), change.new_text()))
            .collect();
        let expected = [
            "a: 1 -> nothing",
            "list[x].n: 1 -> 2",
            r#"tags: ["b"] -> ["b","c"]"#,
        ];
        assert_eq!(listed, expected);
        assert_eq!(changes(&old, &old), []);
        let (x, y) = (json!({"rule": "x"}), json!({"rule": "y"}));
        let reordered = changes(&json!([x, y]), &json!([y, x]));
        assert_eq!(reordered.len(), 1, "their order differs");
    }
}
