//! The report that an implementer submits: the verdicts, and a digest of the evidence for judging again. It is public, so
//! names of the hub's objects are only in the evidence.

mod check;
mod compose;
mod diff;
mod document;
mod folder;
mod obstacles;
#[cfg(test)]
mod tests;

use std::io;

use evidence::{Checksum, api::Edition};
use judge::{Verdict, rules, rules::Level};
use serde_json::{Value, json};

pub(crate) use self::diff::trend;
use self::document::{shown, to_yaml};
pub use self::{
    check::{Check, Fitness, Held, Proof, judge_again},
    compose::compose,
    diff::{Change, Diff, Incomparable, RuleChange, diff},
    document::{Covered, Document, Entry, Group, Judged, KIND, Kept, ReadError, SuiteResult},
    folder::{Submission, Unreadable, comment},
    obstacles::obstacles,
};
use crate::{Report, summary::sources::first_address};

/// Writes the report of a run. Fails only when `into` does. `sum` is the checksum of the evidence file, if there is one.
pub fn write(report: &Report, sum: Option<&Checksum>, into: impl io::Write) -> io::Result<()> {
    compose(report, sum).write(into)
}

/// Writes it in the input format of the SIG's matrix of implementations: tests in a required and an optional group, each
/// conformant, not conformant, unknown or skipped. Fails only when `into` does.
///
/// The reader looks at `skipped`, then `failed`, then `conformant`: `failed` marks a test that did not finish, and means
/// unknown.
pub fn write_matrix(report: &Report, into: impl io::Write) -> io::Result<()> {
    matrix(&compose(report, None), &compose::entries(report), into)
}

/// Writes the head of a report and its rules in that shape.
fn matrix(document: &Document, entries: &[Entry], into: impl io::Write) -> io::Result<()> {
    let tests = |is_required: bool| -> Vec<Value> {
        let own = entries
            .iter()
            .filter(|entry| (entry.level == Level::Must) == is_required);
        own.map(|entry| test(entry, document.edition)).collect()
    };
    // The reader takes a report without required tests for a mistake.
    let mut groups = vec![json!({"name": "Required", "tests": tests(true)})];
    let optional = tests(false);
    if !optional.is_empty() {
        groups.push(json!({"name": "Optional", "tests": optional}));
    }
    let about = document.implementation.clone().unwrap_or_default();
    let partial = document.scope.partial.is_some();
    let passed = entries.iter().filter(|entry| entry.verdict == Verdict::Pass);
    let matrix = json!({
        "groups": groups,
        "suitefailure": if partial { "the run was cut short" } else { "" },
        "passed": passed.count(),
        "total": entries.len(),
        "implementation": {
            "organization": about.organization,
            "project": about.project,
            "version": about.version,
            "url": about.url,
        },
    });
    to_yaml(&matrix, into)
}

fn test(entry: &Entry, edition: Edition) -> Value {
    let applies = rules::find(&entry.rule).and_then(|rule| rule.facts.in_edition(edition));
    let link = applies.and_then(|applies| first_address(&applies.source, edition));
    let labels = [entry.suite(), entry.level.name()].into_iter();
    let basis = applies.map(|applies| applies.basis.name());
    let (failed, skipped, conformant) = match entry.verdict {
        Verdict::Pass => (false, false, true),
        // A waived violation is one.
        Verdict::Fail | Verdict::Waived => (false, false, false),
        Verdict::Warn if entry.violations > 0 => (false, false, false),
        // Warnings alone prove nothing.
        Verdict::Warn | Verdict::Inconclusive => (true, false, true),
        Verdict::NotApplicable | Verdict::Skipped => (false, true, true),
    };
    json!({
        "desc": format!("{}: {}", entry.rule, entry.title),
        "ref": link.unwrap_or_default(),
        "labels": labels.chain(basis).collect::<Vec<_>>(),
        "passed": entry.verdict == Verdict::Pass,
        "failed": failed,
        "skipped": skipped,
        "conformant": conformant,
        "message": message(entry),
    })
}

/// What a person should know of a rule that did not pass: the reader shows it right behind the description.
fn message(entry: &Entry) -> String {
    let found = entry.violations + entry.hints + entry.waived;
    let name = match (entry.verdict, found) {
        (Verdict::Pass, _) => return String::new(),
        (verdict, 0) => verdict.name().to_owned(),
        (verdict, found) => format!("{} ({found} found)", verdict.name()),
    };
    let reasons = entry.reasons.iter().map(|reason| shown(reason));
    let parts: Vec<String> = [name].into_iter().chain(reasons).collect();
    format!(" - {}", parts.join("; "))
}
