//! The JUnit report: a test suite per suite of rules, a test case per rule.
//!
//! JUnit knows neither levels nor warnings nor decisions. The level stands in a case's class (`identity.MUST`),
//! warnings and remarks in its output, the decision and what could not be read in the output of every suite. The crate
//! that writes it writes no `skipped` attribute on suites and no properties, and CDATA as it gets it: [`inert::cdata`]
//! sees to that.

use std::io;

use junit_report::{Duration, OffsetDateTime, ReportBuilder, TestCase, TestResult, TestSuite};

use super::{Report, decision, failure, inert, unread};
use crate::judge::{RuleVerdict, Verdict};

/// How many objects that could not be read are told with each suite.
const UNREAD: usize = 20;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let mut output = format!("{}\n{}\n", decision::headline(report), decision::scope(report));
    for line in unread::lines(report, UNREAD) {
        output += &line;
        output.push('\n');
    }
    // Out of range for this clock is only a time before the year -9999.
    let timestamp = OffsetDateTime::from_unix_timestamp(report.judged_at.as_second())
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let mut suites: Vec<TestSuite> = Vec::new();
    for verdict in &report.judgement.verdicts {
        let suite = verdict.rule.suite();
        if suites.last().is_none_or(|last| last.name != suite) {
            suites.push(TestSuite {
                name: suite.to_owned(),
                package: "clusterprofile-conformance".to_owned(),
                timestamp,
                hostname: inert::xml(&inert::line(&report.evidence.header.hub.source)).into_owned(),
                testcases: Vec::new(),
                system_out: Some(inert::cdata(&output)),
                system_err: None,
            });
        }
        if let Some(suite) = suites.last_mut() {
            suite.testcases.push(case(verdict));
        }
    }
    let document = ReportBuilder::new().add_testsuites(suites).build();
    document.write_xml(&mut into).map_err(|error| match error {
        junit_report::Error::Io(error) => error,
        junit_report::Error::Xml(error) => io::Error::other(error),
    })?;
    into.write_all(b"\n")
}

fn case(verdict: &RuleVerdict) -> TestCase {
    let rule = verdict.rule;
    let reason = || attribute(verdict.reason.as_deref().unwrap_or("no reason is known"));
    let details = inert::cdata(&failure::in_plain_text(verdict));
    let (result, system_out) = match verdict.verdict {
        Verdict::Pass | Verdict::Warn => (TestResult::Success, details),
        Verdict::Fail => {
            let first = verdict.findings.first().map_or("", |finding| &finding.message);
            let message = attribute(&format!("{}: {first}", failure::extent(verdict)));
            let result = TestResult::Failure {
                type_: rule.facts.level.name().to_owned(),
                message,
                cause: Some(details),
            };
            (result, String::new())
        }
        Verdict::Inconclusive => {
            let result = TestResult::Error {
                type_: verdict.verdict.name().to_owned(),
                message: reason(),
                cause: None,
            };
            (result, details)
        }
        Verdict::NotApplicable | Verdict::Skipped | Verdict::Waived => {
            let result = TestResult::SkippedWithCause {
                type_: verdict.verdict.name().to_owned(),
                message: reason(),
                cause: None,
            };
            (result, details)
        }
    };
    TestCase {
        name: rule.id.to_owned(),
        // Judging takes no time worth telling, and a replay must give the same report.
        time: Duration::ZERO,
        result,
        classname: Some(format!("{}.{}", rule.suite(), rule.facts.level)),
        filepath: None,
        system_out: (!system_out.is_empty()).then(|| match verdict.verdict {
            Verdict::Warn => format!("warning: {}\n{system_out}", failure::extent(verdict)),
            _ => system_out,
        }),
        system_err: None,
    }
}

/// Text for an attribute, whose quotes and angles the writer escapes.
fn attribute(text: &str) -> String {
    inert::xml(&inert::line(text)).into_owned()
}
