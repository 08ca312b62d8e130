//! The output after the list, the most important last: unjudged rules, notes, warnings, broken rules, and the decision.

use evidence::Reason;
use judge::{Decision, RuleVerdict, Verdict};
use owo_colors::Style;

use crate::{
    COMMAND, Coverage, Report,
    summary::{decision, findings, run},
    text::{escape, number::count, page::Page},
};

/// The number of unreadable objects to list.
const UNREADABLE: usize = 5;

/// Writes the parts after the list, so many columns wide ([`Page::new`]). The command is what the reader types to call the
/// suite: [`COMMAND`], unless it is the plugin of another program. The text has colours; print it through a stream that
/// strips them if needed.
pub fn after_list(report: &Report, command: &str, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    not_asked(&mut page, report, command);
    by_reason(&mut page, report, Verdict::NotApplicable, command);
    notes(&mut page, report, command);
    by_reason(&mut page, report, Verdict::Waived, command);
    waivers(&mut page, report, command);
    not_read(&mut page, report);
    warnings(&mut page, report);
    by_reason(&mut page, report, Verdict::Inconclusive, command);
    failures(&mut page, report, command);
    to_fix(&mut page, report);
    for (name, value) in [
        ("cost to the hub", run::cost(report)),
        ("slowest reactions", run::slowest_reactions(report)),
    ] {
        if let Some(value) = value {
            page.styled(0, &format!("{name}: {value}"), Style::new().dimmed());
        }
    }
    decide(&mut page, report);
    page.into_text()
}

/// Writes the decision alone, for a list that a machine reads.
pub fn decision(report: &Report, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    decide(&mut page, report);
    page.into_text()
}

/// Shows the broken rules in full.
fn failures(page: &mut Page, report: &Report, command: &str) {
    for (number, verdict) in with_verdict(&report.judgement.verdicts, Verdict::Fail).enumerate() {
        if number == 0 {
            page.heading("failures");
        }
        page.styled(
            0,
            &format!("---- {} ----", verdict.rule.id),
            Style::new().red().bold(),
        );
        findings::in_full(page, verdict, command);
        page.gap();
    }
}

/// Lists what to fix, MUST first: the last screen of a long report shows it.
fn to_fix(page: &mut Page, report: &Report) {
    let mut failing: Vec<&RuleVerdict> = with_verdict(&report.judgement.verdicts, Verdict::Fail).collect();
    if failing.len() < 2 {
        return;
    }
    failing.sort_by_key(|verdict| (verdict.level(), verdict.basis()));
    page.heading("fix in this order");
    for verdict in failing {
        let rule = verdict.rule;
        let extent = count(verdict.found(), "finding");
        page.marked(
            2,
            &format!("[{}]", verdict.applies.weight()),
            &format!("{} ({extent})", rule.id),
        );
        page.paragraph(6, &rule.facts.remedy);
    }
    page.gap();
}

fn warnings(page: &mut Page, report: &Report) {
    for (number, verdict) in with_verdict(&report.judgement.verdicts, Verdict::Warn).enumerate() {
        if number == 0 {
            page.heading("warnings");
        }
        findings::in_short(page, verdict);
        page.gap();
    }
}

/// Shows the rules' notes, such as which evidence was used, each once.
fn notes(page: &mut Page, report: &Report, command: &str) {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for verdict in &report.judgement.verdicts {
        for note in &verdict.notes {
            gather(
                &mut notes,
                report.with_advice(note, Some(verdict.rule)),
                verdict.rule.id,
            );
        }
    }
    list_reasons(page, "notes", &notes, command);
}

/// Shows the first unreadable objects.
fn not_read(page: &mut Page, report: &Report) {
    let lines = run::unreadable(report, UNREADABLE);
    if lines.is_empty() {
        return;
    }
    page.heading("objects that could not be read");
    for line in &lines {
        page.paragraph(2, line);
    }
    page.gap();
}

/// Shows waivers without effect.
fn waivers(page: &mut Page, report: &Report, command: &str) {
    let complaints: Vec<_> = report
        .judgement
        .complaints()
        .map(|complaint| (complaint, Vec::new()))
        .collect();
    list_reasons(page, "waivers needing attention", &complaints, command);
}

fn by_reason(page: &mut Page, report: &Report, which: Verdict, command: &str) {
    let mut reasons = Vec::new();
    for verdict in with_verdict(&report.judgement.verdicts, which) {
        let reason = report
            .reason(verdict)
            .unwrap_or_else(|| "no reason is known".to_owned());
        gather(&mut reasons, reason, verdict.rule.id);
    }
    list_reasons(page, which.words(), &reasons, command);
}

/// Shows evidence that was not requested, with the rules that were skipped for it. A rule that needs one of two kinds
/// is under both.
fn not_asked(page: &mut Page, report: &Report, command: &str) {
    let mut skipped: Vec<&RuleVerdict> = with_verdict(&report.judgement.verdicts, Verdict::Skipped)
        .filter(|verdict| !verdict.is_deselected())
        .collect();
    let not_asked = Coverage::of(report).not_asked;
    let kinds: Vec<(String, Vec<&str>)> = not_asked
        .iter()
        .map(|(kind, why)| {
            let rules = skipped.iter().filter(|verdict| is_skipped_for(verdict, why));
            let rules: Vec<&str> = rules.map(|verdict| verdict.rule.id).collect();
            let aside = if rules.is_empty() {
                "; no rule is skipped for it"
            } else {
                ""
            };
            (format!("{kind}: {}{aside}", report.with_advice(why, None)), rules)
        })
        .collect();
    // The others are skipped because of the claim.
    skipped.retain(|verdict| !not_asked.values().any(|why| is_skipped_for(verdict, why)));
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for verdict in skipped {
        gather(
            &mut reasons,
            report.reason(verdict).unwrap_or_default(),
            verdict.rule.id,
        );
    }
    reasons.extend(kinds);
    list_reasons(page, "skipped (not requested)", &reasons, command);
}

fn is_skipped_for(verdict: &RuleVerdict, why: &Reason) -> bool {
    verdict.reasons.iter().any(|reason| reason.contains(&**why))
}

fn decide(page: &mut Page, report: &Report) {
    let style = match report.judgement.decision {
        Decision::Conformant => Style::new().green().bold(),
        Decision::NoViolation => Style::new().bold(),
        Decision::NotConformant => Style::new().red().bold(),
        Decision::Inconclusive => Style::new().yellow().bold(),
    };
    let headline = format!("{};", decision::headline(report));
    page.sentence(&headline, style, &decision::scope(report));
}

fn with_verdict(verdicts: &[RuleVerdict], which: Verdict) -> impl Iterator<Item = &RuleVerdict> {
    verdicts.iter().filter(move |verdict| verdict.verdict == which)
}

/// Adds a rule under its reason. Reasons are in the order of their first occurrence.
fn gather<'a>(reasons: &mut Vec<(String, Vec<&'a str>)>, reason: String, rule: &'a str) {
    match reasons.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, rules)) => rules.push(rule),
        None => reasons.push((reason, vec![rule])),
    }
}

fn list_reasons(page: &mut Page, heading: &str, reasons: &[(String, Vec<&str>)], command: &str) {
    if reasons.is_empty() {
        return;
    }
    page.heading(heading);
    for (reason, rules) in reasons {
        // Reasons quote commands as they are without a plugin's name: evidence is the same for everybody.
        let reason = reason.replace(&format!("`{COMMAND} "), &format!("`{command} "));
        page.paragraph(2, &escape::line(&reason));
        if !rules.is_empty() {
            page.paragraph(6, &rules.join(", "));
        }
        page.gap();
    }
}
