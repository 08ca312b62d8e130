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

use crate::{
    Coverage, Report,
    summary::{decision, findings, run},
    text::escape,
};

/// The number of unreadable objects to list.
const UNREADABLE: usize = 20;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, into: impl io::Write) -> io::Result<()> {
    let mut writer = Writer::new(into);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
    end_line(&mut writer)?;
    writer.write_event(Event::Start(BytesStart::new("testsuites")))?;
    end_line(&mut writer)?;
    let verdicts = &report.judgement.verdicts;
    let suites = verdicts.chunk_by(|one, next| one.rule.suite() == next.rule.suite());
    for (place, verdicts) in suites.enumerate() {
        write_suite(&mut writer, report, verdicts, place == 0)?;
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
    is_first: bool,
) -> io::Result<()> {
    let cases: Vec<Case> = verdicts.iter().map(|verdict| Case::of(report, verdict)).collect();
    let count = |element: &str| {
        cases
            .iter()
            .filter(|case| case.element == Some(element))
            .count()
            .to_string()
    };
    let rules = verdicts.iter().flat_map(|verdict| {
        let (id, applies) = (verdict.rule.id, verdict.applies);
        [
            (format!("{id}.level"), applies.level.name().to_owned()),
            (format!("{id}.basis"), applies.basis.name().to_owned()),
            (format!("{id}.source"), applies.source.clone()),
        ]
    });
    let run = if is_first {
        run_properties(report)
    } else {
        Vec::new()
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
        writer
            .create_element("properties")
            .write_inner_content(|writer| {
                for (name, value) in run.into_iter().chain(rules) {
                    let value = escape::xml(&escape::line(&value)).into_owned();
                    let property = writer.create_element("property");
                    property
                        .with_attributes([("name", &*name), ("value", &value)])
                        .write_empty()?;
                }
                Ok(())
            })?;
        cases.iter().try_for_each(|case| case.write(writer))?;
        if is_first {
            write_text(writer, "system-out", [], &output(report))
        } else {
            Ok(())
        }
    })?;
    Ok(())
}

/// What a program wants to know of the run.
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
        ("suite.version", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("window.from", window.map(|window| window.from.to_string())),
        ("window.until", window.map(|window| window.until.to_string())),
        ("settled", Coverage::of(report).settled),
        ("partial", judgement.partial.then(|| "true".to_owned())),
    ];
    let run = run
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let decisions = run::decisions(judgement).into_iter();
    run.chain(decisions.map(|of| (format!("decision.{}", of.edition), of.decision.name().to_owned())))
        .collect()
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

/// The decision, its basis, and what could not be used.
fn output(report: &Report) -> String {
    let hub = escape::line(&report.evidence.header.hub.source).into_owned();
    let mut lines = vec![
        decision::headline(report),
        decision::scope(report),
        format!("hub: {hub}"),
    ];
    lines.extend(
        report
            .judgement
            .complaints()
            .map(|complaint| escape::line(&complaint).into_owned()),
    );
    lines.extend(run::unreadable(report, UNREADABLE));
    lines.join("\n") + "\n"
}

const FAILURE: &str = "failure";
const ERROR: &str = "error";
const SKIPPED: &str = "skipped";

/// The case of one rule.
struct Case<'a> {
    verdict: &'a RuleVerdict,
    /// The element that says that the rule did not pass; `None` if it passed.
    element: Option<&'static str>,
    kind: &'static str,
    /// What is wrong.
    message: String,
    /// The message with all details; for a rule that passed, its notes.
    text: String,
}

impl<'a> Case<'a> {
    fn of(report: &Report, verdict: &'a RuleVerdict) -> Self {
        let name = verdict.verdict.name();
        let (element, kind) = match verdict.verdict {
            Verdict::Pass => (None, name),
            Verdict::Fail => (Some(FAILURE), verdict.level().name()),
            Verdict::Inconclusive => (Some(ERROR), name),
            _ => (Some(SKIPPED), name),
        };
        let first = verdict.findings.first().map_or("", |finding| &finding.message);
        let extent = findings::extent(verdict);
        let message = match verdict.verdict {
            Verdict::Fail => format!("{extent}: {first}"),
            Verdict::Warn => format!("warning: {extent}: {first}"),
            Verdict::Waived => decision::waived(report.judgement, verdict),
            _ => {
                let reason = report.reason(verdict);
                format!("{name}: {}", reason.as_deref().unwrap_or("no reason is known"))
            }
        };
        let message = escape::line(&message).into_owned();
        let details = findings::in_plain_text(report, verdict);
        let text = match element {
            None => details,
            Some(_) => format!(
                "[{}] {}\n{message}\n{details}",
                verdict.applies.weight(),
                verdict.rule.facts.title
            ),
        };
        Self {
            verdict,
            element,
            kind,
            message: escape::xml(&message).into_owned(),
            text,
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
        match self.element {
            None if self.text.is_empty() => case.write_empty()?,
            None => case.write_inner_content(|writer| write_text(writer, "system-out", [], &self.text))?,
            Some(element) => case.write_inner_content(|writer| {
                let attributes = [("type", self.kind), ("message", &self.message)];
                write_text(writer, element, attributes, &self.text)
            })?,
        };
        Ok(())
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
