//! A run that goes on, in single lines.

use evidence::Awaited;
use judge::{RuleVerdict, rules::Rule};

use crate::text::{escape, number::count};

/// The number of characters of a message, so that a line of a log stays readable.
const LONGEST_MESSAGE: usize = 200;

/// The number of rules that a line names.
const MOST_NAMED: usize = 5;

/// Says what broke a rule: its weight and id, the first finding, and how many more there are.
pub fn broken_line(verdict: &RuleVerdict) -> String {
    let (weight, id) = (verdict.applies.weight(), verdict.rule.id);
    let violations: Vec<_> = verdict
        .findings
        .iter()
        .filter(|finding| !finding.advisory)
        .collect();
    let first = violations.first().map_or_else(String::new, |finding| {
        format!(
            ": {}: {}",
            escape::short(&finding.object.to_string(), LONGEST_MESSAGE),
            escape::short(&finding.message, LONGEST_MESSAGE)
        )
    });
    let others = (violations.len() + verdict.unlisted.violations).saturating_sub(1);
    let more = if others == 0 {
        String::new()
    } else {
        format!(" (and {} more)", count(others, "finding"))
    };
    format!("[{weight}] {id}{first}{more}")
}

/// Says which objects have a fault that was not yet seen for longer than its grace, and by which rules. None if there are none.
pub fn pending_line(pending: &[(&'static Rule, Awaited)]) -> Option<String> {
    let mut all = Awaited::default();
    pending.iter().for_each(|(_, awaited)| all.add(awaited.clone()));
    let objects = [(all.profiles.len(), "profile"), (all.slices.len(), "slice")];
    let objects: Vec<String> = objects
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    if objects.is_empty() {
        return None;
    }
    let named = pending.iter().take(MOST_NAMED).map(|(rule, _)| rule.id);
    let mut named = named.collect::<Vec<_>>().join(", ");
    if pending.len() > MOST_NAMED {
        named += &format!(" and {} more", pending.len() - MOST_NAMED);
    }
    Some(format!(
        "pending: a fault of {} may still be mended within its grace period ({named})",
        objects.join(" and ")
    ))
}
