//! The JUnit report: a test suite per suite of rules, a test case per rule.
//!
//! JUnit knows neither levels nor warnings nor waivers nor decisions. The level stands in a case's class
//! (`identity.MUST`), warnings and remarks in its output, the decision and what could not be read in the output of every
//! suite. What is waived is skipped, and its message says `waived`: it never passes.
//!
//! Of a case that did not pass, GitLab shows the text inside of the element, Prow's Spyglass its message and then the text,
//! actions of GitHub the message and the text's beginning: so the message tells what is wrong, and the text tells the
//! whole.
//!
//! The crate that writes it writes CDATA as it gets it, which [`inert::cdata`] sees to, and no `skipped` attribute on
//! suites, by which several readers count: [`opened`] puts it there.

use std::io;

use judge::{RuleVerdict, Verdict};
use junit_report::{Duration, OffsetDateTime, ReportBuilder, TestCase, TestResult, TestSuite};

use super::{Report, decision, failure, inert, unread};

/// How many objects that could not be read are told with each suite.
const UNREAD: usize = 20;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    into.write_all(b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites>\n")?;
    for suite in suites(report) {
        into.write_all(opened(report, &suite, &written(&suite)?).as_bytes())?;
        into.write_all(b"\n")?;
    }
    into.write_all(b"</testsuites>\n")
}

fn suites(report: &Report) -> Vec<TestSuite> {
    let output = output(report);
    let mut suites: Vec<TestSuite> = Vec::new();
    for verdict in &report.judgement.verdicts {
        let suite = verdict.rule.suite();
        if suites.last().is_none_or(|last| last.name != suite) {
            suites.push(TestSuite {
                name: suite.to_owned(),
                // [`opened`] writes none of these.
                package: String::new(),
                timestamp: OffsetDateTime::UNIX_EPOCH,
                hostname: String::new(),
                testcases: Vec::new(),
                system_out: Some(inert::cdata(&output)),
                system_err: None,
            });
        }
        if let Some(suite) = suites.last_mut() {
            suite.testcases.push(case(report, verdict));
        }
    }
    suites
}

/// What is told with every suite.
fn output(report: &Report) -> String {
    let mut output = format!(
        "{}\n{}\nhub: {}\n",
        decision::headline(report),
        decision::scope(report),
        inert::line(&report.evidence.header.hub.source)
    );
    let complaints = report.judgement.waivers.iter();
    for complaint in complaints.filter_map(|outcome| outcome.complaint()) {
        output += &format!("{}\n", inert::line(&complaint));
    }
    for line in unread::lines(report, UNREAD) {
        output += &line;
        output.push('\n');
    }
    output
}

/// A suite as the crate writes it, in a document of its own.
fn written(suite: &TestSuite) -> io::Result<String> {
    let mut document = Vec::new();
    let report = ReportBuilder::new().add_testsuite(suite.clone()).build();
    report.write_xml(&mut document).map_err(|error| match error {
        junit_report::Error::Io(error) => error,
        junit_report::Error::Xml(error) => io::Error::other(error),
    })?;
    String::from_utf8(document).map_err(io::Error::other)
}

/// The suite's element out of its document, opened by a tag with the attributes that readers know, and those alone:
/// Surefire's schema has no `id`, `package` and `hostname`, and wants `skipped`.
fn opened(report: &Report, suite: &TestSuite, document: &str) -> String {
    // All that comes before the tag's end is ours, and in attributes the crate escapes angles.
    let inside = document
        .split_once("<testsuite ")
        .and_then(|(_, rest)| rest.split_once('>'))
        .and_then(|(_, rest)| rest.strip_suffix("</testsuites>"))
        .unwrap_or_default();
    format!(
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" timestamp=\"{}\" time=\"0\">{inside}",
        suite.name,
        suite.tests(),
        suite.failures(),
        suite.errors(),
        suite.skipped(),
        report.judged_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
}

fn case(report: &Report, verdict: &RuleVerdict) -> TestCase {
    let rule = verdict.rule;
    let details = failure::in_plain_text(verdict);
    let head = format!("[{}] {}", rule.facts.level, rule.facts.title);
    let (result, system_out) = match verdict.verdict {
        Verdict::Pass => (TestResult::Success, details),
        Verdict::Warn => {
            let warning = format!("warning: {head}: {}\n{details}", failure::extent(verdict));
            (TestResult::Success, warning)
        }
        _ => (unpassed(report, verdict, &head, &details), String::new()),
    };
    TestCase {
        name: rule.id.to_owned(),
        // Judging takes no time worth telling, and a replay must give the same report.
        time: Duration::ZERO,
        result,
        classname: Some(format!("{}.{}", rule.suite(), rule.facts.level)),
        filepath: None,
        system_out: (!system_out.is_empty()).then(|| inert::cdata(&system_out)),
        system_err: None,
    }
}

/// The element of a case that did not pass: its message says what is the matter, its text says it again with all that is
/// known.
fn unpassed(report: &Report, verdict: &RuleVerdict, head: &str, details: &str) -> TestResult {
    let reason = verdict.reason.as_deref().unwrap_or("no reason is known");
    let name = verdict.verdict.name();
    let matter = match verdict.verdict {
        Verdict::Fail => {
            let first = verdict.findings.first().map_or("", |finding| &finding.message);
            format!("{}: {first}", failure::extent(verdict))
        }
        Verdict::Waived => decision::waived(report.judgement, verdict),
        _ => format!("{name}: {reason}"),
    };
    let matter = inert::line(&matter);
    // The writer escapes an attribute's quotes and angles.
    let message = inert::xml(&matter).into_owned();
    let cause = Some(inert::cdata(&format!("{head}\n{matter}\n{details}")));
    match verdict.verdict {
        Verdict::Fail => TestResult::Failure {
            type_: verdict.rule.facts.level.name().to_owned(),
            message,
            cause,
        },
        Verdict::Inconclusive => TestResult::Error {
            type_: name.to_owned(),
            message,
            cause,
        },
        _ => TestResult::SkippedWithCause {
            type_: name.to_owned(),
            message,
            cause,
        },
    }
}
