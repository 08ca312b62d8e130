//! The input format of the SIG's matrix of implementations: tests in a required and an optional group, each conformant,
//! not conformant, unknown or skipped.
//!
//! The reader looks at `skipped`, then `failed`, then `conformant`: `failed` marks a test that did not finish, and
//! means unknown.

use std::io;

use evidence::api::Edition;
use judge::{Verdict, rules, rules::Level};
use serde::Serialize;

use super::{
    document::{Document, Entry},
    file::{shown, to_yaml},
};
use crate::summary::sources::first_address;

#[derive(Debug, Serialize)]
struct Matrix<'a> {
    groups: Vec<Group<'a>>,
    /// Why the whole did not come to an end, where it did not.
    suitefailure: &'a str,
    passed: usize,
    total: usize,
    implementation: Implementation<'a>,
}

#[derive(Debug, Serialize)]
struct Group<'a> {
    name: &'static str,
    tests: Vec<Test<'a>>,
}

#[derive(Debug, Serialize)]
struct Test<'a> {
    desc: String,
    /// A link to the document, or nothing.
    #[serde(rename = "ref")]
    link: String,
    labels: Vec<&'a str>,
    passed: bool,
    failed: bool,
    skipped: bool,
    conformant: bool,
    /// Stands right behind the description.
    message: String,
}

#[derive(Debug, Default, Serialize)]
struct Implementation<'a> {
    organization: &'a str,
    project: &'a str,
    version: &'a str,
    url: &'a str,
}

/// Writes the head of a report and its rules in that shape. Fails only when `into` does.
pub(super) fn write(document: &Document, entries: &[Entry], into: impl io::Write) -> io::Result<()> {
    let group = |name, is_required| Group {
        name,
        tests: entries
            .iter()
            .filter(|entry| (entry.level == Level::Must) == is_required)
            .map(|entry| test(entry, document.edition))
            .collect(),
    };
    let mut groups = vec![group("Required", true), group("Optional", false)];
    // The reader takes a report without required tests for a mistake.
    groups.retain(|group| group.name == "Required" || !group.tests.is_empty());
    let about = document.implementation.as_ref();
    let implementation = about.map_or_else(Implementation::default, |about| Implementation {
        organization: &about.organization,
        project: &about.project,
        version: &about.version,
        url: &about.url,
    });
    let partial = document.scope.partial.is_some();
    let matrix = Matrix {
        groups,
        suitefailure: if partial { "the run was cut short" } else { "" },
        passed: entries
            .iter()
            .filter(|entry| entry.verdict == Verdict::Pass)
            .count(),
        total: entries.len(),
        implementation,
    };
    to_yaml(&matrix, into)
}

fn test(entry: &Entry, edition: Edition) -> Test<'_> {
    let applies = rules::find(&entry.rule).and_then(|rule| rule.facts.in_edition(edition));
    let labels = [entry.suite(), entry.level.name()].into_iter();
    let (failed, skipped, conformant) = answer(entry);
    Test {
        desc: format!("{}: {}", entry.rule, entry.title),
        link: applies
            .and_then(|applies| first_address(&applies.source, edition))
            .unwrap_or_default(),
        labels: labels
            .chain(applies.map(|applies| applies.basis.name()))
            .collect(),
        passed: entry.verdict == Verdict::Pass,
        failed,
        skipped,
        conformant,
        message: message(entry),
    }
}

/// Whether a test is `failed` (unknown), `skipped`, and `conformant`.
fn answer(entry: &Entry) -> (bool, bool, bool) {
    match entry.verdict {
        Verdict::Pass => (false, false, true),
        // A waived violation is one.
        Verdict::Fail | Verdict::Waived => (false, false, false),
        Verdict::Warn if entry.violations > 0 => (false, false, false),
        // Warnings alone prove nothing.
        Verdict::Warn | Verdict::Inconclusive => (true, false, true),
        Verdict::NotApplicable | Verdict::Skipped => (false, true, true),
    }
}

/// What a person should know of a rule that did not pass.
fn message(entry: &Entry) -> String {
    let found = entry.violations + entry.hints + entry.waived;
    let name = match (entry.verdict, found) {
        (Verdict::Pass, _) => return String::new(),
        (verdict, 0) => verdict.name().to_owned(),
        (verdict, found) => format!("{} ({found} found)", verdict.name()),
    };
    let reasons = entry.reasons.iter().map(|reason| shown(reason));
    format!(
        " - {}",
        [name].into_iter().chain(reasons).collect::<Vec<_>>().join("; ")
    )
}
