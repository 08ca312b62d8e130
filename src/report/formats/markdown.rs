//! The report in Markdown, for a pull request or a job's summary (`$GITHUB_STEP_SUMMARY`).
//!
//! Hub text is only in code spans, where Markdown interprets nothing.

use std::{fmt::Write as _, io};

use judge::{
    Count, Decision, RuleVerdict, Verdict,
    rules::{Finding, Level},
};

use super::markdown_story;
use crate::{
    Report,
    said::{cost::cost, decision, failure, sources::cited},
    story::{Stories, representatives},
    text::{escape, number},
};

/// The number of findings to show for a rule, and of characters in a table cell.
const SHOWN: usize = 20;
const CELL: usize = 300;

/// The size limit in bytes. GitHub drops a step's whole summary if it exceeds 1 MiB, and the step may write more.
const LONGEST: usize = 1_000_000;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let mut text = String::new();
    head(&mut text, report);
    counts(&mut text, report);
    complaints(&mut text, report);
    let tail = unjudged(report);
    let room = LONGEST.saturating_sub(tail.len());
    let stories = Stories::of(report.evidence);
    let mut left_out = 0;
    for (heading, which) in [
        ("Failures", Verdict::Fail),
        ("Warnings", Verdict::Warn),
        ("Waived", Verdict::Waived),
    ] {
        left_out += findings(&mut text, report, &stories, (heading, which), room);
    }
    if left_out > 0 {
        let more = number::count(left_out, "more rule");
        let _ = writeln!(
            text,
            "… and {more} with findings, left out for the report's size (the JSON report has them all)\n"
        );
    }
    text += &tail;
    into.write_all(text.as_bytes())
}

fn head(text: &mut String, report: &Report) {
    let sign = match report.judgement.decision {
        Decision::Conformant => "✅",
        Decision::NoViolation => "⚪",
        Decision::NotConformant => "❌",
        Decision::Inconclusive => "❔",
    };
    let source = &report.evidence.header.hub.source;
    let cost = cost(report).map_or_else(String::new, |cost| format!(" (cost to the hub: {cost})"));
    let _ = writeln!(
        text,
        "## {sign} {}: {}\n\n{}\n\nHub: {}{cost}, judged by clusterprofile-conformance {}\n",
        report.judgement.subject(),
        decision::headline(report),
        // It quotes names of the user's own, made one line.
        plain(&decision::scope(report)),
        code(source),
        env!("CARGO_PKG_VERSION"),
    );
}

fn counts(text: &mut String, report: &Report) {
    text.push_str(
        "| level | rules | pass | fail | warn | waived | inconclusive | not applicable | skipped |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let tally = &report.judgement.tally;
    for level in [Level::Must, Level::Should, Level::May] {
        let Count {
            rules,
            passed,
            failed,
            warned,
            waived,
            inconclusive,
            not_applicable,
            skipped,
        } = tally.level(level);
        let _ = writeln!(
            text,
            "| {level} | {rules} | {passed} | {failed} | {warned} | {waived} | {inconclusive} | {not_applicable} | {skipped} |"
        );
    }
    text.push('\n');
}

fn complaints(text: &mut String, report: &Report) {
    for outcome in &report.judgement.waivers {
        if let Some(complaint) = outcome.complaint() {
            let _ = writeln!(text, "> ⚠️ {}\n", plain(&complaint));
        }
    }
}

/// Lists the rules with that verdict while there is room, and counts the others. Stories take the first half at most: no rule is
/// left out for them.
fn findings(
    text: &mut String,
    report: &Report,
    stories: &Stories,
    (heading, which): (&str, Verdict),
    room: usize,
) -> usize {
    let verdicts = report.judgement.verdicts.iter();
    let mut found = verdicts.filter(|verdict| verdict.verdict == which).peekable();
    if found.peek().is_none() {
        return 0;
    }
    let _ = writeln!(text, "### {heading}\n");
    let mut left_out = 0;
    for verdict in found {
        // Keeps room for headings and for the count of omitted rules.
        let fits = |told: &String| text.len() + told.len() + 1000 <= room;
        let leaves_room = |told: &String| text.len() + told.len() <= room / 2;
        let in_full = Some(rule(verdict, Some(stories))).filter(leaves_room);
        match in_full.or_else(|| Some(rule(verdict, None)).filter(fits)) {
            Some(told) => *text += &told,
            None => left_out += 1,
        }
    }
    left_out
}

/// Tells a rule and its findings, with their stories if those are given.
fn rule(verdict: &RuleVerdict, stories: Option<&Stories>) -> String {
    let facts = &verdict.rule.facts;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<details{}><summary><b>{}</b> [{}] {}: {}</summary>\n",
        if verdict.verdict == Verdict::Fail {
            " open"
        } else {
            ""
        },
        verdict.rule.id,
        verdict.applies.weight(),
        facts.title,
        failure::extent(verdict),
    );
    if let (Verdict::Waived, Some(reason)) = (verdict.verdict, verdict.reason()) {
        let _ = writeln!(text, "{}\n", plain(&reason));
    }
    text.push_str("| object | field | expected | observed | |\n|---|---|---|---|---|\n");
    let waived = verdict.waived.iter().map(|(finding, _)| (finding, " (waived)"));
    let all = verdict.findings.iter().map(|finding| (finding, "")).chain(waived);
    for (finding, remark) in all.take(SHOWN) {
        row(&mut text, finding, remark);
    }
    let hidden = (verdict.found() + verdict.waived.len()).saturating_sub(SHOWN);
    if hidden > 0 {
        let _ = writeln!(
            text,
            "\n… and {} (the JSON report has them all)",
            number::count(hidden, "more finding")
        );
    }
    for finding in stories.iter().flat_map(|_| representatives(verdict)) {
        let story = stories.and_then(|stories| stories.of_finding(finding));
        story
            .iter()
            .for_each(|story| markdown_story::write(&mut text, finding, story));
    }
    let _ = writeln!(
        text,
        "\n**Remedy**: {}\n\n**Source**: {}\n\n</details>\n",
        facts.remedy,
        source(verdict)
    );
    text
}

/// The rule's source, its documents as links; for a derived rule also the step from their words to it.
fn source(verdict: &RuleVerdict) -> String {
    let applies = verdict.applies;
    let cited = cited(&applies.source, applies.edition).into_iter();
    let cited: Vec<String> = cited
        .map(|cited| match cited.address {
            Some(address) => format!("[{}]({address})", cited.text),
            None => cited.text.to_owned(),
        })
        .collect();
    let mut source = cited.join("; ");
    if let Some(reasoning) = &applies.reasoning {
        let _ = write!(source, "\n\n**Derived**: {reasoning}");
    }
    source
}

fn row(text: &mut String, finding: &Finding, remark: &str) {
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {}{remark} |",
        code(&finding.object.to_string()),
        code(&finding.path),
        code(&finding.expected),
        code(&finding.observed),
        code(&finding.message),
    );
}

/// The rules that were not judged, and why.
fn unjudged(report: &Report) -> String {
    let mut text = String::new();
    let others: Vec<&RuleVerdict> = report
        .judgement
        .verdicts
        .iter()
        .filter(|verdict| {
            matches!(
                verdict.verdict,
                Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped
            )
        })
        .collect();
    if others.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "<details><summary>{} not judged</summary>\n\n| rule | level | basis | verdict | why |\n|---|---|---|---|---|",
        number::count(others.len(), "rule")
    );
    for verdict in others {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            verdict.rule.id,
            verdict.level(),
            verdict.basis(),
            verdict.verdict.name(),
            code(&report.reason(verdict).unwrap_or_default()),
        );
    }
    text.push_str("\n</details>\n");
    text
}

/// Formats any text as a code span, also for tables; empty text stays empty.
pub(crate) fn code(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    // A bar is escaped for the table; a backslash before it would escape the escape.
    let line = escape::short(text, CELL)
        .replace("\\|", "\\\\u{7c}")
        .replace('|', "\\|");
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // A backtick at an end would join the fence.
    let pad = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// Escapes Markdown and HTML in our own or the user's text.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in escape::line(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&'
        ) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_stays_one() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code(""), "");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code("<b>|\n"), "`<b>\\|\\n`");
        // Two backslashes before a bar would be one that is taken as itself, and a bar that ends the cell.
        assert_eq!(code("a\\|b"), "`a\\\\u{7c}b`");
    }

    #[test]
    fn plain_text_has_no_markup() {
        assert_eq!(plain("see [x](y) *now* <b>"), "see \\[x\\](y) \\*now\\* \\<b\\>");
    }
}
