//! The findings of a rule in text: the offending objects, the fields, the expected values, and the remedy.

use std::{collections::HashMap, hash::Hash};

use anstyle::Style;
use judge::{RuleVerdict, Verdict, rules::Finding};

use crate::{
    Report,
    text::{count, escape, page::Page, thousands},
};

/// The number of kinds of violation to show for a rule, and of objects for each kind.
const SHOWN: usize = 3;

/// The same kind of violation on one or more objects.
pub(crate) struct FindingGroup<'a> {
    /// In the order in which they were found.
    pub(crate) findings: Vec<&'a Finding>,
}

/// Shows what a rule that fails requires, its findings, and the remedy. The command is what the reader types to call the
/// suite.
pub(crate) fn in_full(page: &mut Page, verdict: &RuleVerdict, command: &str) {
    let facts = &verdict.rule.facts;
    page.paragraph(2, &format!("{}: {}", facts.title, extent(verdict)));
    show_findings(page, verdict);
    page.field(2, "remedy", &facts.remedy);
    page.command(2, "explain", &format!("{command} explain {}", verdict.rule.id));
}

/// Shows the findings of a rule, grouped by kind, and the first of many.
pub fn show_findings(page: &mut Page, verdict: &RuleVerdict) {
    let groups = groups(&verdict.findings, |finding| &finding.message);
    for group in groups.iter().take(SHOWN) {
        page.styled(2, &escape::line(&group.first().message), Style::new().bold());
        group.show(page, 4, SHOWN);
    }
    let hidden: usize = groups.iter().skip(SHOWN).map(|group| group.findings.len()).sum();
    if hidden > 0 {
        page.paragraph(2, &format!("… and {} of other kinds", count(hidden, "finding")));
    }
    if hidden > 0 || groups.iter().any(|group| group.findings.len() > SHOWN) {
        page.paragraph(2, "JSON and JUnit reports list all findings");
    }
}

/// Lists every finding of a rule as plain text, for machine formats that people read too.
pub(crate) fn in_plain_text(report: &Report, verdict: &RuleVerdict) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for (finding, remark) in remarked(verdict) {
        let object = &finding.object;
        let _ = writeln!(
            text,
            "{}{remark}: {}",
            escape::line(&object.to_string()),
            escape::line(&finding.message)
        );
        let version = [
            ("uid", &*object.uid),
            ("resourceVersion", &object.resource_version),
        ];
        let version = version.into_iter().filter(|(_, value)| !value.is_empty());
        for (name, value) in version.chain(values(finding)) {
            let _ = writeln!(text, "  {name}: {}", escape::line(value));
        }
    }
    for note in &verdict.notes {
        let _ = writeln!(
            text,
            "note: {}",
            escape::line(&report.with_advice(note, Some(verdict.rule)))
        );
    }
    if matches!(verdict.verdict, Verdict::Fail | Verdict::Warn | Verdict::Waived) {
        let _ = writeln!(text, "remedy: {}", verdict.rule.facts.remedy);
    }
    text
}

/// The findings of a rule, each with a remark if it does not count.
pub(crate) fn remarked(verdict: &RuleVerdict) -> impl Iterator<Item = (&Finding, &'static str)> {
    let open = verdict.findings.iter().map(|finding| {
        let remark = if finding.advisory { " (warning only)" } else { "" };
        (finding, remark)
    });
    let waived = verdict.waived.iter().map(|(finding, _)| (finding, " (waived)"));
    open.chain(waived)
}

pub(crate) fn extent(verdict: &RuleVerdict) -> String {
    let waived = match verdict.waived.len() {
        0 => String::new(),
        waived => format!("{} waived, ", thousands(waived)),
    };
    format!(
        "{}, {waived}{} examined",
        count(verdict.found(), "finding"),
        thousands(verdict.examined)
    )
}

impl FindingGroup<'_> {
    pub(crate) fn first(&self) -> &Finding {
        self.findings[0]
    }

    /// Shows the first objects with what differs between them, the number of others, and what they share.
    fn show(&self, page: &mut Page, indent: usize, most: usize) {
        let (common, different): (Vec<&FindingPart>, Vec<&FindingPart>) =
            PARTS.iter().partition(|part| self.is_common(part));
        for (number, finding) in self.findings.iter().take(most).enumerate() {
            let name = if number == 0 || !different.is_empty() {
                "object"
            } else {
                ""
            };
            page.field(indent, name, &escape::line(&finding.object.to_string()));
            show_parts(page, indent, finding, &different);
        }
        if self.findings.len() > most {
            let what = if different.is_empty() {
                "more object"
            } else {
                "more finding"
            };
            let more = count(self.findings.len() - most, what);
            page.field(indent, "", &format!("… and {more}"));
        }
        show_parts(page, indent, self.first(), &common);
    }

    fn is_common(&self, part: &FindingPart) -> bool {
        let (_, of) = part;
        self.findings
            .iter()
            .all(|finding| of(finding) == of(self.first()))
    }
}

/// A part of a finding that several objects may share, with its name.
type FindingPart = (&'static str, fn(&Finding) -> &String);

const PARTS: [FindingPart; 3] = [
    ("path", |finding| &finding.path),
    ("expected", |finding| &finding.expected),
    ("observed", |finding| &finding.observed),
];

/// The values of a finding that are not empty, with their names.
pub(crate) fn values(finding: &Finding) -> Vec<(&'static str, &str)> {
    let values = PARTS.iter().map(|(name, of)| (*name, &**of(finding)));
    values.filter(|(_, value)| !value.is_empty()).collect()
}

fn show_parts(page: &mut Page, indent: usize, finding: &Finding, parts: &[&FindingPart]) {
    for (name, of) in parts {
        let value = of(finding);
        if !value.is_empty() {
            page.field(indent, name, &escape::line(value));
        }
    }
}

/// Groups findings that differ only in their objects.
pub(crate) fn alike<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<FindingGroup<'a>> {
    groups(findings, |finding| {
        (&finding.message, PARTS.map(|(_, of)| of(finding)))
    })
}

/// Groups findings by these parts, in the order of their first occurrence.
fn groups<'a, Parts: Eq + Hash>(
    findings: impl IntoIterator<Item = &'a Finding>,
    parts: impl Fn(&'a Finding) -> Parts,
) -> Vec<FindingGroup<'a>> {
    let mut groups: Vec<FindingGroup> = Vec::new();
    let mut places = HashMap::new();
    for finding in findings {
        let place = *places.entry(parts(finding)).or_insert_with(|| {
            groups.push(FindingGroup { findings: Vec::new() });
            groups.len() - 1
        });
        groups[place].findings.push(finding);
    }
    groups
}
