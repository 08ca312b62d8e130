//! The JUnit report: a test suite per suite of rules, a test case per rule.
//!
//! JUnit has no levels, warnings, waivers or decisions. The level is in a case's class (`identity.MUST`); level, basis and
//! source are in the properties of its suite, named after the case: Jenkins's xunit plugin refuses a file with properties
//! inside of a case. The decision, the run and unreadable objects are in the properties and the output of the first
//! suite. Warnings and waived rules are skipped with a message of their own, since many readers show nothing of a case
//! that passed.
//!
//! For a case that did not pass, GitLab shows the element's text, Prow's Spyglass its message and then the text, GitHub
//! actions the message and the beginning of the text. So the message names the problem, and the text repeats it with
//! all details. The attributes of suites are those that Jenkins and Surefire both know; Surefire's schema wants a time for
//! each case.

use std::io;

use askama::Template;
use evidence::api::Role;
use judge::{RuleVerdict, Verdict};

use crate::{
    Coverage, Report,
    summary::{self, decision, findings},
    text::escape,
};

const UNREADABLE: usize = 20;

#[derive(Template)]
#[template(path = "junit.xml")]
struct Junit<'a> {
    report: &'a Report<'a>,
    judged_at: String,
}

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let junit = Junit {
        report,
        judged_at: report.judged_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    junit.write_into(&mut into)
}

/// What is known of the run, with names.
fn run_properties(report: &Report) -> Vec<(String, String)> {
    let (header, judgement) = (&report.evidence.header, report.judgement);
    let window = header.window;
    let run = [
        ("decision", Some(judgement.decision.name().to_owned())),
        ("roles", Some(Role::names(judgement.roles()))),
        ("edition", Some(judgement.editions())),
        ("hub", Some(header.hub.source.clone())),
        ("hub.version", header.hub.server_version.clone()),
        ("api.version", header.hub.api_version.clone()),
        ("suite.version", Some(crate::VERSION.to_owned())),
        ("window.from", window.map(|window| window.from.to_string())),
        ("window.until", window.map(|window| window.until.to_string())),
        ("settled", Coverage::of(report).settled),
        ("partial", judgement.partial.then(|| "true".to_owned())),
    ];
    let run = run
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let decisions = summary::decisions(judgement).into_iter();
    run.chain(decisions.map(|of| (format!("decision.{}", of.edition), of.decision.name().to_owned())))
        .map(|(name, value)| (name, in_one_line(&value)))
        .collect()
}

/// The decision, its basis, and what could not be used.
fn output(report: &Report) -> String {
    let mut lines = vec![
        decision::headline(report),
        decision::scope(report),
        format!("hub: {}", in_one_line(&report.evidence.header.hub.source)),
    ];
    lines.extend(
        report
            .judgement
            .complaints()
            .map(|complaint| in_one_line(&complaint)),
    );
    lines.extend(summary::unreadable(report, UNREADABLE));
    escape::xml(&(lines.join("\n") + "\n")).into_owned()
}

pub(crate) fn in_one_line(text: &str) -> String {
    escape::xml(&escape::line(text)).into_owned()
}

/// The element that says that a rule did not pass; `None` if it passed.
pub(crate) fn element(verdict: &RuleVerdict) -> Option<&'static str> {
    match verdict.verdict {
        Verdict::Pass => None,
        Verdict::Fail => Some("failure"),
        Verdict::Inconclusive => Some("error"),
        _ => Some("skipped"),
    }
}

pub(crate) fn elements(verdicts: &[RuleVerdict], name: &str) -> usize {
    let elements = verdicts.iter().filter_map(element);
    elements.filter(|element| *element == name).count()
}

pub(crate) fn kind(verdict: &RuleVerdict) -> &'static str {
    match verdict.verdict {
        Verdict::Fail => verdict.level().name(),
        other => other.name(),
    }
}

pub(crate) fn message(report: &Report, verdict: &RuleVerdict) -> String {
    let first = verdict.findings.first().map_or("", |finding| &finding.message);
    let extent = findings::extent(verdict);
    in_one_line(&match verdict.verdict {
        Verdict::Fail => format!("{extent}: {first}"),
        Verdict::Warn => format!("warning: {extent}: {first}"),
        Verdict::Waived => report.reason(verdict).unwrap_or_default(),
        other => {
            let reason = report.reason(verdict);
            format!(
                "{}: {}",
                other.name(),
                reason.as_deref().unwrap_or("no reason is known")
            )
        }
    })
}

pub(crate) fn details(report: &Report, verdict: &RuleVerdict) -> String {
    escape::xml(&findings::in_plain_text(report, verdict)).into_owned()
}
