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
    public::shown,
    read::to_yaml,
};
use crate::said::sources::first_address;

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
    // The reader takes a report without required tests for a mistake.
    let groups: Vec<Group> = [("Required", true), ("Optional", false)]
        .into_iter()
        .map(|(name, required)| Group {
            name,
            tests: entries
                .iter()
                .filter(|entry| (entry.level == Level::Must) == required)
                .map(|entry| test(entry, document.edition))
                .collect(),
        })
        .filter(|group| group.name == "Required" || !group.tests.is_empty())
        .collect();
    let passed = entries
        .iter()
        .filter(|entry| entry.verdict == Verdict::Pass)
        .count();
    let matrix = Matrix {
        groups,
        suitefailure: if document.is_partial() {
            "the run was cut short"
        } else {
            ""
        },
        passed,
        total: entries.len(),
        implementation: document
            .implementation
            .as_ref()
            .map_or_else(Implementation::default, |of| Implementation {
                organization: &of.organization,
                project: &of.project,
                version: &of.version,
                url: &of.url,
            }),
    };
    to_yaml(&matrix, into)
}

fn test(entry: &Entry, edition: Edition) -> Test<'_> {
    let answer = Answer::of(entry);
    let applies = rules::find(&entry.rule).and_then(|rule| rule.facts.in_edition(edition));
    let basis = applies.map(|applies| applies.basis.name());
    let message = message(entry);
    Test {
        desc: format!("{}: {}", entry.rule, entry.title),
        link: applies
            .and_then(|applies| first_address(&applies.source, edition))
            .unwrap_or_default(),
        labels: [entry.suite(), entry.level.name()]
            .into_iter()
            .chain(basis)
            .collect(),
        passed: answer == Answer::Yes,
        failed: answer == Answer::Unknown,
        skipped: answer == Answer::Skipped,
        conformant: answer != Answer::No,
        message: if message.is_empty() {
            message
        } else {
            format!(" - {message}")
        },
    }
}

/// What the matrix says of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Unknown,
    Skipped,
}

impl Answer {
    fn of(entry: &Entry) -> Self {
        match entry.verdict {
            Verdict::Pass => Self::Yes,
            // A waived violation is one.
            Verdict::Fail | Verdict::Waived => Self::No,
            Verdict::Warn if entry.violations > 0 => Self::No,
            // Hints alone prove nothing.
            Verdict::Warn | Verdict::Inconclusive => Self::Unknown,
            Verdict::NotApplicable | Verdict::Skipped => Self::Skipped,
        }
    }
}

/// What a person should know of a rule that has not simply passed.
fn message(entry: &Entry) -> String {
    let found = entry.violations + entry.hints + entry.waived;
    let mut parts: Vec<String> = match entry.verdict {
        Verdict::Pass => Vec::new(),
        verdict if found > 0 => vec![format!("{} ({found} found)", verdict.name())],
        verdict => vec![verdict.name().to_owned()],
    };
    parts.extend(entry.reasons.iter().map(|reason| shown(reason)));
    parts.join("; ")
}
