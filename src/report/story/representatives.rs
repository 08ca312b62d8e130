//! Chooses the findings whose stories reports tell: one of each kind, so that a report stays small.

use judge::{RuleVerdict, rules::Finding};

/// The most stories for a rule.
const STORIES: usize = 8;

/// The findings of a rule whose stories are told: the first of each kind, open ones first. Formats that group findings
/// show the same ones first.
pub(crate) fn representatives(verdict: &RuleVerdict) -> Vec<&Finding> {
    let waived = verdict.waived.iter().map(|(finding, _)| finding);
    let mut chosen = first_of_each(verdict.findings.iter());
    chosen.extend(first_of_each(waived));
    chosen.truncate(STORIES);
    chosen
}

fn first_of_each<'f>(findings: impl Iterator<Item = &'f Finding>) -> Vec<&'f Finding> {
    let parts = |finding: &'f Finding| {
        let Finding {
            path,
            expected,
            observed,
            message,
            ..
        } = finding;
        (message, path, expected, observed)
    };
    let mut first: Vec<&Finding> = Vec::new();
    for finding in findings {
        if first.len() == STORIES {
            break;
        }
        if first.iter().all(|other| parts(other) != parts(finding)) {
            first.push(finding);
        }
    }
    first
}
