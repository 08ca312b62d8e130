//! The verdicts on a terminal: what is violated, and in the last lines the decision, what it is based on, and what to add to
//! check the rest. In full, every rule, with the reasons of those without a verdict, and how the rules were judged.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use judge::{Decision, RuleVerdict, Verdict};

use crate::{
    COMMAND, Report,
    summary::{self, decision, findings, shown_verdict},
    text::{count, escape, page::Page},
};

const UNREADABLE: usize = 5;

/// The number of inconclusive rules to name for a reason.
const NAMED: usize = 3;

/// Ids of up to this many characters are aligned: with any outcome behind them they fit 80 columns. Longer ones push their
/// outcome to the right.
const ALIGNED: usize = 38;

/// Lists the selected rules, one a line, each with its verdict. Has colours.
pub fn list(report: &Report) -> String {
    let verdicts = report.judgement.verdicts.iter();
    let selected = Vec::from_iter(verdicts.filter(|verdict| !verdict.is_deselected()));
    let longest = selected.iter().map(|verdict| verdict.rule.id.len()).max();
    let longest = longest.unwrap_or_default().min(ALIGNED);
    let mut text = String::new();
    for verdict in &selected {
        let weight = format!("[{}]", verdict.applies.weight());
        let id = verdict.rule.id;
        let outcome = outcome(verdict);
        let style = style(shown_verdict(verdict));
        let _ = writeln!(text, "{weight:<17} {id:<longest$} ... {style}{outcome}{style:#}");
    }
    text + "\n"
}

fn outcome(verdict: &RuleVerdict) -> String {
    match shown_verdict(verdict) {
        Verdict::Pass => "ok".to_owned(),
        Verdict::Fail => "FAILED".to_owned(),
        Verdict::Warn => format!("warn: {}", verdict.found()),
        Verdict::Waived => format!("waived: {}", verdict.waived.len()),
        other => other.words().to_owned(),
    }
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Pass => AnsiColor::Green.on_default(),
        Verdict::Fail => AnsiColor::Red.on_default().bold(),
        Verdict::Warn | Verdict::Waived | Verdict::Inconclusive => AnsiColor::Yellow.on_default(),
        Verdict::NotApplicable | Verdict::Skipped => Style::new().dimmed(),
    }
}

/// Shows the verdicts, so many columns wide ([`Page::new`]), with colours. The command is what the reader types to call the
/// suite: [`COMMAND`], unless it is the plugin of another program. `in_full`, it also says why rules were not judged, and
/// what the rules were judged from.
pub fn verdicts(report: &Report, command: &str, width: Option<usize>, in_full: bool) -> String {
    let mut page = Page::new(width);
    if in_full {
        for verdict in [Verdict::Skipped, Verdict::NotApplicable, Verdict::Waived] {
            by_reason(&mut page, report, verdict, command, usize::MAX);
        }
        notes(&mut page, report, command);
        let cost = summary::cost(report).map(|cost| format!("cost to the hub: {cost}"));
        let reactions = summary::slowest_reactions(report);
        let reactions = reactions.map(|reactions| format!("slowest reactions: {reactions}"));
        list_lines(&mut page, "run", cost.into_iter().chain(reactions), command);
    }
    let complaints = report.judgement.complaints();
    list_lines(&mut page, "waivers needing attention", complaints, command);
    let unreadable = summary::unreadable(report, UNREADABLE);
    list_lines(&mut page, "objects that could not be read", unreadable, command);
    let most = if in_full { usize::MAX } else { NAMED };
    by_reason(&mut page, report, Verdict::Inconclusive, command, most);
    warnings(&mut page, report);
    failures(&mut page, report, command);
    decide(&mut page, report);
    page.into_text()
}

/// Shows the rules that fail in full, in the order in which to fix them.
fn failures(page: &mut Page, report: &Report, command: &str) {
    let mut failing: Vec<&RuleVerdict> = with_verdict(report, Verdict::Fail).collect();
    failing.sort_by_key(|verdict| (verdict.level(), verdict.basis()));
    for verdict in failing {
        let heading = format!("FAIL [{}] {}", verdict.applies.weight(), verdict.rule.id);
        page.styled(0, &heading, AnsiColor::Red.on_default().bold());
        findings::in_full(page, verdict, command);
        page.gap();
    }
}

/// Shows each rule that warns in a line: the first kind of finding.
fn warnings(page: &mut Page, report: &Report) {
    let warnings: Vec<&RuleVerdict> = with_verdict(report, Verdict::Warn).collect();
    for verdict in &warnings {
        let first = verdict.findings.first().map_or("", |finding| &finding.message);
        let id = verdict.rule.id;
        let text = format!(
            "{id} ({}): {}",
            count(verdict.found(), "finding"),
            escape::line(first)
        );
        page.labelled(0, "warning", AnsiColor::Yellow.on_default(), &text);
    }
    if !warnings.is_empty() {
        page.gap();
    }
}

/// Shows the rules' notes, for example which evidence was used, each once.
fn notes(page: &mut Page, report: &Report, command: &str) {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for verdict in &report.judgement.verdicts {
        for note in &verdict.notes {
            let note = report.with_advice(note, Some(verdict.rule));
            gather(&mut notes, note, verdict.rule.id);
        }
    }
    list_reasons(page, "notes", &notes, command);
}

/// Shows the reasons of rules with that verdict, with at most so many rules each.
fn by_reason(page: &mut Page, report: &Report, which: Verdict, command: &str, most: usize) {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for verdict in with_verdict(report, which).filter(|verdict| !verdict.is_deselected()) {
        let reason = report.reason(verdict);
        let reason = reason.unwrap_or_else(|| "no reason is known".to_owned());
        gather(&mut reasons, reason, verdict.rule.id);
    }
    for (reason, rules) in &mut reasons {
        if rules.len() > most {
            let more = count(rules.len() - most, "more rule");
            *reason += &format!(" ({} and {more})", rules[..most].join(", "));
            rules.clear();
        }
    }
    list_reasons(page, which.words(), &reasons, command);
}

/// The last lines: the decision by each edition, the decision, what it is based on, and what to add.
fn decide(page: &mut Page, report: &Report) {
    let editions = summary::editions(report);
    if !editions.is_empty() {
        let head = ["edition", "all rules", "explicit rules only"].map(str::to_owned);
        for [edition, all, explicit] in [head].into_iter().chain(editions) {
            page.verbatim(0, &format!("{edition:<18}  {all:<16}  {explicit}"));
        }
        page.gap();
    }
    let style = match report.judgement.decision {
        Decision::Conformant => AnsiColor::Green.on_default().bold(),
        Decision::NoViolation => Style::new().bold(),
        Decision::NotConformant => AnsiColor::Red.on_default().bold(),
        Decision::Inconclusive => AnsiColor::Yellow.on_default().bold(),
    };
    page.hanging(&decision::headline(report), style);
    page.hanging(&decision::basis(report), Style::new());
    if let Some(rest) = decision::rest(report) {
        page.hanging(&rest, Style::new());
    }
}

fn with_verdict<'a>(report: &Report<'a>, which: Verdict) -> impl Iterator<Item = &'a RuleVerdict> {
    let verdicts = report.judgement.verdicts.iter();
    verdicts.filter(move |verdict| shown_verdict(verdict) == which)
}

/// Adds a rule under its reason. Reasons are in the order of their first occurrence.
fn gather<'a>(reasons: &mut Vec<(String, Vec<&'a str>)>, reason: String, rule: &'a str) {
    match reasons.iter_mut().find(|(words, _)| *words == reason) {
        Some((_, rules)) => rules.push(rule),
        None => reasons.push((reason, vec![rule])),
    }
}

fn list_lines(page: &mut Page, heading: &str, lines: impl IntoIterator<Item = String>, command: &str) {
    let lines: Vec<_> = lines.into_iter().map(|line| (line, Vec::new())).collect();
    list_reasons(page, heading, &lines, command);
}

fn list_reasons(page: &mut Page, heading: &str, reasons: &[(String, Vec<&str>)], command: &str) {
    if reasons.is_empty() {
        return;
    }
    page.heading(heading);
    for (reason, rules) in reasons {
        // Reasons quote commands without the name of a plugin: evidence is the same for all users.
        let reason = reason.replace(&format!("`{COMMAND} "), &format!("`{command} "));
        page.paragraph(2, &escape::line(&reason));
        if !rules.is_empty() {
            page.paragraph(6, &rules.join(", "));
        }
    }
    page.gap();
}
