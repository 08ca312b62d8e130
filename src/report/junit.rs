//! The JUnit report: a test suite per suite of rules, a test case per rule.
//!
//! JUnit has no levels, warnings, waivers or decisions. The level is in a case's class (`identity.MUST`), level, basis and
//! source in the properties of its suite, named after the case: Jenkins's xunit plugin refuses a file with properties
//! inside of a case. Notes are in a case's output, the decision and unreadable objects in the output of every suite, and what a program wants of the run in
//! the properties. Warnings and waived rules are skipped with a message of their own, since many readers show nothing of
//! a case that passed.
//!
//! For a case that did not pass, GitLab shows the element's text, Prow's Spyglass its message and then the text, GitHub
//! actions the message and the beginning of the text. So the message names the problem, and the text repeats it with
//! all details.
//!
//! The crate quick-junit would write the same for each reader. It keeps all texts of all suites in memory, takes fifteen
//! times as long, escapes texts instead of using CDATA, and brings five crates and a second quick-xml.

use std::io;

use evidence::api::Role;
use judge::{RuleVerdict, Verdict};
use quick_xml::{
    Writer,
    events::{BytesCData, BytesDecl, BytesEnd, BytesStart, Event},
};

use super::{Coverage, Report, decision, escape, failure, of_edition::OfEdition, unread};

/// The number of unreadable objects to list in each suite.
const UNREAD: usize = 20;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, into: impl io::Write) -> io::Result<()> {
    let mut writer = Writer::new(into);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    end_line(&mut writer)?;
    writer.write_event(Event::Start(BytesStart::new("testsuites")))?;
    end_line(&mut writer)?;
    let output = output(report);
    let verdicts = &report.judgement.verdicts;
    for verdicts in verdicts.chunk_by(|one, next| one.rule.suite() == next.rule.suite()) {
        write_suite(&mut writer, report, verdicts, &output)?;
        end_line(&mut writer)?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuites")))?;
    end_line(&mut writer)
}

fn end_line(writer: &mut Writer<impl io::Write>) -> io::Result<()> {
    writer.get_mut().write_all(b"\n")
}

/// Writes the verdicts of one suite. Its attributes are those that Jenkins and Surefire both know; several readers count
/// by `skipped`.
fn write_suite(
    writer: &mut Writer<impl io::Write>,
    report: &Report,
    verdicts: &[RuleVerdict],
    output: &str,
) -> io::Result<()> {
    let cases: Vec<Case> = verdicts.iter().map(|verdict| Case::of(report, verdict)).collect();
    let count = |element: &str| {
        let outcomes = cases.iter().filter_map(|case| case.outcome.as_ref());
        outcomes
            .filter(|outcome| outcome.element == element)
            .count()
            .to_string()
    };
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", verdicts[0].rule.suite()),
        ("tests", &cases.len().to_string()),
        ("failures", &count(FAILURE)),
        ("errors", &count(ERROR)),
        ("skipped", &count(SKIPPED)),
        (
            "timestamp",
            &report.judged_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        ),
    ]);
    suite.write_inner_content(|writer| {
        write_properties(writer, report, verdicts)?;
        cases.iter().try_for_each(|case| case.write(writer))?;
        write_text(writer, "system-out", [], output)
    })?;
    Ok(())
}

/// Writes what a program wants to know of the run, and of each rule of the suite.
fn write_properties(
    writer: &mut Writer<impl io::Write>,
    report: &Report,
    verdicts: &[RuleVerdict],
) -> io::Result<()> {
    let header = &report.evidence.header;
    let window = header.window;
    let run = [
        ("decision", Some(report.judgement.decision.name().to_owned())),
        ("roles", Some(Role::names(report.judgement.roles()))),
        ("edition", Some(report.judgement.editions())),
        ("hub", Some(header.hub.source.clone())),
        ("hub.version", header.hub.server_version.clone()),
        ("api.version", header.hub.api_version.clone()),
        ("suite.version", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("window.from", window.map(|window| window.from.to_string())),
        ("window.until", window.map(|window| window.until.to_string())),
        ("settled", Coverage::of(report).settled),
        ("partial", report.judgement.partial.then(|| "true".to_owned())),
    ];
    let run = run
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let of_editions = OfEdition::each(report.judgement)
        .into_iter()
        .map(|of| (format!("decision.{}", of.edition), of.decision.name().to_owned()));
    let rules = verdicts.iter().flat_map(|verdict| {
        let (id, applies) = (verdict.rule.id, verdict.applies);
        [
            (format!("{id}.level"), applies.level.name().to_owned()),
            (format!("{id}.basis"), applies.basis.name().to_owned()),
            (format!("{id}.source"), applies.source.clone()),
        ]
    });
    writer
        .create_element("properties")
        .write_inner_content(|writer| {
            for (name, value) in run.chain(of_editions).chain(rules) {
                let value = escape::xml(&escape::line(&value)).into_owned();
                let property = writer.create_element("property");
                property
                    .with_attributes([("name", &*name), ("value", &value)])
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}

/// Writes an element that holds text.
fn write_text<'a>(
    writer: &mut Writer<impl io::Write>,
    element: &str,
    attributes: impl IntoIterator<Item = (&'a str, &'a str)>,
    text: &str,
) -> io::Result<()> {
    let element = writer.create_element(element).with_attributes(attributes);
    element.write_inner_content(|writer| {
        // A section cannot hold its own end mark: the writer then makes several.
        let text = escape::xml(text);
        let mut sections = BytesCData::escaped(&text);
        sections.try_for_each(|section| writer.write_event(Event::CData(section)))
    })?;
    Ok(())
}

/// The output of every suite.
fn output(report: &Report) -> String {
    let mut output = format!(
        "{}\n{}\nhub: {}\n",
        decision::headline(report),
        decision::scope(report),
        escape::line(&report.evidence.header.hub.source)
    );
    let complaints = report.judgement.waivers.iter();
    for complaint in complaints.filter_map(|outcome| outcome.complaint()) {
        output += &format!("{}\n", escape::line(&complaint));
    }
    for line in unread::lines(report, UNREAD) {
        output += &line;
        output.push('\n');
    }
    output
}

const FAILURE: &str = "failure";
const ERROR: &str = "error";
const SKIPPED: &str = "skipped";

/// The case of one rule.
struct Case<'a> {
    verdict: &'a RuleVerdict,
    /// Absent where the rule passed.
    outcome: Option<Outcome>,
    /// Empty if the outcome says everything.
    output: String,
}

/// The element of a case that did not pass: its message says what is wrong, its text repeats that with all details.
struct Outcome {
    element: &'static str,
    kind: &'static str,
    message: String,
    text: String,
}

impl<'a> Case<'a> {
    fn of(report: &Report, verdict: &'a RuleVerdict) -> Self {
        let facts = &verdict.rule.facts;
        let details = failure::in_plain_text(report, verdict);
        let head = format!("[{}] {}", verdict.applies.weight(), facts.title);
        let (outcome, output) = match verdict.verdict {
            Verdict::Pass => (None, details),
            _ => (Some(Outcome::of(report, verdict, &head, &details)), String::new()),
        };
        Self {
            verdict,
            outcome,
            output,
        }
    }

    fn write(&self, writer: &mut Writer<impl io::Write>) -> io::Result<()> {
        let rule = self.verdict.rule;
        let case = writer.create_element("testcase").with_attributes([
            ("name", rule.id),
            // Surefire's schema wants one. Judging takes almost none, and a replay must give the same report.
            ("time", "0"),
            ("classname", &format!("{}.{}", rule.suite(), self.verdict.level())),
        ]);
        if self.outcome.is_none() && self.output.is_empty() {
            case.write_empty()?;
            return Ok(());
        }
        case.write_inner_content(|writer| {
            if let Some(outcome) = &self.outcome {
                let attributes = [("type", outcome.kind), ("message", &outcome.message)];
                write_text(writer, outcome.element, attributes, &outcome.text)?;
            }
            if !self.output.is_empty() {
                write_text(writer, "system-out", [], &self.output)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

impl Outcome {
    fn of(report: &Report, verdict: &RuleVerdict, head: &str, details: &str) -> Self {
        let reason = report
            .reason(verdict)
            .unwrap_or_else(|| "no reason is known".to_owned());
        let name = verdict.verdict.name();
        let matter = match verdict.verdict {
            Verdict::Fail | Verdict::Warn => {
                let first = verdict.findings.first().map_or("", |finding| &finding.message);
                let mark = if verdict.verdict == Verdict::Warn {
                    "warning: "
                } else {
                    ""
                };
                format!("{mark}{}: {first}", failure::extent(verdict))
            }
            Verdict::Waived => decision::waived(report.judgement, verdict),
            _ => format!("{name}: {reason}"),
        };
        let matter = escape::line(&matter);
        let (element, kind) = match verdict.verdict {
            Verdict::Fail => (FAILURE, verdict.level().name()),
            Verdict::Inconclusive => (ERROR, name),
            _ => (SKIPPED, name),
        };
        Self {
            element,
            kind,
            message: escape::xml(&matter).into_owned(),
            text: format!("{head}\n{matter}\n{details}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn text_is_whole_for_an_xml_parser(text in "([\\]>\\[]{0,4}|<!\\[CDATA\\[|\\PC|[\\x00-\\x1f]){0,20}") {
            let mut writer = Writer::new(Vec::new());
            write_text(&mut writer, "text", [], &text).expect("a vector takes all");
            let document = String::from_utf8(writer.into_inner()).expect("UTF-8");
            let mut reader = quick_xml::Reader::from_str(&document);
            let mut read = String::new();
            loop {
                match reader.read_event().expect("well-formed") {
                    Event::CData(section) => read += &section,
                    Event::Start(_) | Event::End(_) => {}
                    Event::Eof => break,
                    other => panic!("outside of a section: {other:?}"),
                }
            }
            assert_eq!(read, escape::xml(&text));
        }
    }
}
