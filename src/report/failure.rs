//! What is told of a broken rule: what offends, where, what was expected, and what to do.

use std::collections::HashMap;

use owo_colors::Style;

use super::{decision::count, inert, page::Page};
use crate::{
    evidence::ObjectRef,
    judge::{RuleVerdict, Verdict},
    rules::Finding,
};

/// How many different findings a rule shows, and how many objects each of them.
const SHOWN: usize = 5;

/// The same violation on one or more objects.
pub(super) struct Group<'a> {
    /// The first of them, which stands for all.
    pub(super) finding: &'a Finding,
    /// The objects, in the order in which they were found.
    pub(super) objects: Vec<&'a ObjectRef>,
}

/// All that a person needs to mend a broken rule; the rule's id stands above it already.
pub(super) fn in_full(verdict: &RuleVerdict) -> String {
    let facts = &verdict.rule.facts;
    let mut page = Page::default();
    let level = facts.level.name();
    page.marked(0, level, &facts.title);
    page.paragraph(level.len() + 1, &facts.source);
    page.paragraph(level.len() + 1, &extent(verdict));
    show_findings(&mut page, verdict);
    page.gap();
    page.field(2, "remedy", &facts.remedy);
    page.gap();
    page.paragraph(
        2,
        &format!("clusterprofile-conformance explain {}", verdict.rule.id),
    );
    page.into_text().trim_end().to_owned()
}

/// The findings of a rule, each behind an empty line: what is alike together, and the first of many.
pub fn show_findings(page: &mut Page, verdict: &RuleVerdict) {
    let groups = alike(&verdict.findings);
    for group in groups.iter().take(SHOWN) {
        page.gap();
        page.styled(2, &inert::line(&group.finding.message), Style::new().bold());
        for (number, object) in group.objects.iter().take(SHOWN).enumerate() {
            page.field(
                4,
                if number == 0 { "object" } else { "" },
                &inert::line(&object.to_string()),
            );
        }
        if let Some(more) = more(group.objects.len(), "object") {
            page.field(4, "", &more);
        }
        for (name, value) in [
            ("path", &group.finding.path),
            ("expected", &group.finding.expected),
            ("observed", &group.finding.observed),
        ] {
            if !value.is_empty() {
                page.field(4, name, &inert::line(value));
            }
        }
    }
    let shown: usize = groups.iter().take(SHOWN).map(|group| group.objects.len()).sum();
    if verdict.findings.len() > shown {
        let hidden = count(verdict.findings.len() - shown, "more finding");
        page.gap();
        page.paragraph(
            2,
            &format!("… and {hidden}: a report has them all (--json FILE, --junit FILE)"),
        );
    }
}

/// The same in few lines, for what does not count.
pub(super) fn in_short(page: &mut Page, verdict: &RuleVerdict) {
    let rule = verdict.rule;
    page.marked(
        2,
        &format!("[{}]", rule.facts.level),
        &format!("{}: {}", rule.id, extent(verdict)),
    );
    let groups = groups(&verdict.findings, |finding| [&finding.message]);
    for group in groups.iter().take(SHOWN) {
        let others = match group.objects.len() {
            1 => String::new(),
            objects => format!(" and {}", count(objects - 1, "other")),
        };
        let object = group.objects[0].to_string();
        page.paragraph(
            6,
            &format!(
                "{}: {}{others}",
                inert::line(&group.finding.message),
                inert::line(&object)
            ),
        );
    }
    if groups.len() > SHOWN {
        page.paragraph(6, &format!("… and {} of other kinds", groups.len() - SHOWN));
    }
    page.field(6, "remedy", &rule.facts.remedy);
}

/// Every finding of a rule as plain text, for reports that are read by people and made for machines.
pub(super) fn in_plain_text(verdict: &RuleVerdict) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let waived = verdict.waived.iter().map(|(finding, _)| (finding, " (waived)"));
    let findings = verdict.findings.iter().map(|finding| {
        let advisory = if finding.advisory { " (advisory)" } else { "" };
        (finding, advisory)
    });
    for (finding, remark) in findings.chain(waived) {
        let object = &finding.object;
        let _ = writeln!(
            text,
            "{}{remark}: {}",
            inert::line(&object.to_string()),
            inert::line(&finding.message)
        );
        for (name, value) in [
            ("uid", &object.uid),
            ("resourceVersion", &object.resource_version),
            ("path", &finding.path),
            ("expected", &finding.expected),
            ("observed", &finding.observed),
        ] {
            if !value.is_empty() {
                let _ = writeln!(text, "  {name}: {}", inert::line(value));
            }
        }
    }
    for note in &verdict.notes {
        let _ = writeln!(text, "note: {}", inert::line(note));
    }
    if matches!(verdict.verdict, Verdict::Fail | Verdict::Warn | Verdict::Waived) {
        let _ = writeln!(text, "remedy: {}", verdict.rule.facts.remedy);
    }
    text
}

/// How much was found in how much.
pub(super) fn extent(verdict: &RuleVerdict) -> String {
    format!(
        "{}, {} examined",
        count(verdict.findings.len(), "finding"),
        verdict.examined
    )
}

fn more(all: usize, what: &str) -> Option<String> {
    (all > SHOWN).then(|| format!("… and {}", count(all - SHOWN, &format!("more {what}"))))
}

/// Puts findings together that differ in nothing but their objects.
pub(super) fn alike<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<Group<'a>> {
    groups(findings, |finding| {
        [
            &finding.message,
            &finding.path,
            &finding.expected,
            &finding.observed,
        ]
    })
}

/// Puts findings that agree in these parts together, in the order in which each first came up.
fn groups<'a, const PARTS: usize>(
    findings: impl IntoIterator<Item = &'a Finding>,
    parts: fn(&Finding) -> [&String; PARTS],
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places = HashMap::new();
    for finding in findings {
        let place = *places.entry(parts(finding)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.objects.push(&finding.object),
            None => groups.push(Group {
                finding,
                objects: vec![&finding.object],
            }),
        }
    }
    groups
}
