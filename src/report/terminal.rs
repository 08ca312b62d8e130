//! What follows the list on a terminal: warnings, what could not be judged and why, and the decision.

use std::collections::BTreeMap;

use owo_colors::Style;

use super::{Coverage, Report, decision, failure, inert, page::Page};
use crate::judge::{Decision, RuleVerdict, Verdict};

/// The parts after the list. Colours are in the text: print it through something that knows when to take them out.
pub fn after_list(report: &Report) -> String {
    let mut page = Page::default();
    warnings(&mut page, report);
    notes(&mut page, report);
    let verdicts = &report.judgement.verdicts;
    by_reason(
        &mut page,
        "unclear (inconclusive)",
        verdicts,
        Verdict::Inconclusive,
    );
    by_reason(
        &mut page,
        "n/a (not applicable)",
        verdicts,
        Verdict::NotApplicable,
    );
    not_asked(&mut page, report);
    decide(&mut page, report);
    page.into_text()
}

/// The decision alone, for when the list is read by a machine.
pub fn decision(report: &Report) -> String {
    let mut page = Page::default();
    decide(&mut page, report);
    page.into_text()
}

fn warnings(page: &mut Page, report: &Report) {
    let mut warned = with_verdict(&report.judgement.verdicts, Verdict::Warn).peekable();
    if warned.peek().is_none() {
        return;
    }
    page.heading("warnings");
    for verdict in warned {
        failure::in_short(page, verdict);
        page.gap();
    }
}

/// Remarks of the rules, such as which evidence was used; each once, however many rules make it.
fn notes(page: &mut Page, report: &Report) {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for verdict in &report.judgement.verdicts {
        for note in &verdict.notes {
            gather(&mut notes, note, verdict.rule.id);
        }
    }
    told(page, "notes", &notes);
}

fn by_reason(page: &mut Page, heading: &str, verdicts: &[RuleVerdict], which: Verdict) {
    let mut reasons = Vec::new();
    for verdict in with_verdict(verdicts, which) {
        gather(
            &mut reasons,
            verdict.reason.as_deref().unwrap_or("no reason is known"),
            verdict.rule.id,
        );
    }
    told(page, heading, &reasons);
}

/// What was not asked for, with the rules that were skipped for it.
fn not_asked(page: &mut Page, report: &Report) {
    let mut reasons = Vec::new();
    for verdict in with_verdict(&report.judgement.verdicts, Verdict::Skipped) {
        if report.selection.holds(verdict.rule.id) {
            gather(
                &mut reasons,
                verdict.reason.as_deref().unwrap_or("not asked for"),
                verdict.rule.id,
            );
        }
    }
    // Evidence that merely sharpens a verdict is worth a line too.
    let not_asked: BTreeMap<_, _> = Coverage::of(report.evidence, report.judgement).not_asked;
    let more: Vec<String> = not_asked
        .iter()
        .filter(|(_, why)| !reasons.iter().any(|(reason, _)| reason.contains(why.as_str())))
        .map(|(kind, why)| format!("{kind}: {why}"))
        .collect();
    told(page, "not asked for (skipped)", &reasons);
    if more.is_empty() {
        return;
    }
    if reasons.is_empty() {
        page.heading("not asked for");
    }
    for line in &more {
        page.paragraph(2, &inert::line(line));
    }
    page.gap();
}

fn decide(page: &mut Page, report: &Report) {
    let style = match report.judgement.decision {
        Decision::Conformant => Style::new().green().bold(),
        Decision::NotConformant => Style::new().red().bold(),
        Decision::Inconclusive => Style::new().yellow().bold(),
    };
    page.styled(0, &decision::headline(report), style);
    page.paragraph(2, &decision::scope(report));
}

fn with_verdict(verdicts: &[RuleVerdict], which: Verdict) -> impl Iterator<Item = &RuleVerdict> {
    verdicts.iter().filter(move |verdict| verdict.verdict == which)
}

/// Notes a rule under its reason, reasons in the order in which they first come up.
fn gather<'a>(reasons: &mut Vec<(&'a str, Vec<&'a str>)>, reason: &'a str, rule: &'a str) {
    match reasons.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, rules)) => rules.push(rule),
        None => reasons.push((reason, vec![rule])),
    }
}

fn told(page: &mut Page, heading: &str, reasons: &[(&str, Vec<&str>)]) {
    if reasons.is_empty() {
        return;
    }
    page.heading(heading);
    for (reason, rules) in reasons {
        page.paragraph(2, &inert::line(reason));
        page.paragraph(6, &rules.join(", "));
        page.gap();
    }
}
