//! The report in Markdown, for a pull request or a job's summary (`$GITHUB_STEP_SUMMARY`).
//!
//! What comes from the hub stands in code spans alone, where Markdown gives nothing a meaning.

use std::{fmt::Write as _, io};

use super::{Report, decision, failure, inert};
use crate::{
    judge::{Count, Decision, RuleVerdict, Verdict},
    rules::{Finding, Level},
};

/// How many findings of a rule are shown: GitHub takes no more than 1 MiB in all.
const SHOWN: usize = 20;

/// Writes the report. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let mut text = String::new();
    head(&mut text, report);
    counts(&mut text, report);
    complaints(&mut text, report);
    for (heading, which) in [
        ("Failures", Verdict::Fail),
        ("Warnings", Verdict::Warn),
        ("Waived", Verdict::Waived),
    ] {
        findings(&mut text, report, heading, which);
    }
    unjudged(&mut text, report);
    into.write_all(text.as_bytes())
}

fn head(text: &mut String, report: &Report) {
    let sign = match report.judgement.decision {
        Decision::Conformant => "✅",
        Decision::NotConformant => "❌",
        Decision::Inconclusive => "❔",
    };
    let source = &report.evidence.header.hub.source;
    let _ = writeln!(
        text,
        "## {sign} ClusterProfile: {}\n\n{}\n\nHub: {}, judged by clusterprofile-conformance {}\n",
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

fn findings(text: &mut String, report: &Report, heading: &str, which: Verdict) {
    let mut found = report
        .judgement
        .verdicts
        .iter()
        .filter(|verdict| verdict.verdict == which)
        .peekable();
    if found.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "### {heading}\n");
    for verdict in found {
        rule(text, verdict);
    }
}

fn rule(text: &mut String, verdict: &RuleVerdict) {
    let facts = &verdict.rule.facts;
    let _ = writeln!(
        text,
        "<details{}><summary><b>{}</b> [{}] {}: {}</summary>\n",
        if verdict.verdict == Verdict::Fail {
            " open"
        } else {
            ""
        },
        verdict.rule.id,
        facts.level,
        facts.title,
        failure::extent(verdict),
    );
    if let (Verdict::Waived, Some(reason)) = (verdict.verdict, &verdict.reason) {
        let _ = writeln!(text, "{}\n", plain(reason));
    }
    text.push_str("| object | field | expected | observed | |\n|---|---|---|---|---|\n");
    let waived = verdict.waived.iter().map(|(finding, _)| (finding, " (waived)"));
    let all = verdict.findings.iter().map(|finding| (finding, "")).chain(waived);
    for (finding, remark) in all.take(SHOWN) {
        row(text, finding, remark);
    }
    let hidden = (verdict.findings.len() + verdict.waived.len()).saturating_sub(SHOWN);
    if hidden > 0 {
        let _ = writeln!(
            text,
            "\n… and {} (the JSON report has them all)",
            decision::count(hidden, "more finding")
        );
    }
    let _ = writeln!(
        text,
        "\n**Remedy**: {}\n\n**Source**: {}\n\n</details>\n",
        facts.remedy, facts.source
    );
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
fn unjudged(text: &mut String, report: &Report) {
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
        return;
    }
    let _ = writeln!(
        text,
        "<details><summary>{} not judged</summary>\n\n| rule | level | verdict | why |\n|---|---|---|---|",
        decision::count(others.len(), "rule")
    );
    for verdict in others {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            verdict.rule.id,
            verdict.rule.facts.level,
            verdict.verdict.name(),
            code(verdict.reason.as_deref().unwrap_or_default()),
        );
    }
    text.push_str("\n</details>\n");
}

/// Text as a code span that stays one whatever is in it, in a table too; nothing for nothing.
fn code(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let line = inert::line(text).replace('|', "\\|");
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

/// Text that is ours or the user's, every character of Markdown and HTML in it taken as itself.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in inert::line(text).chars() {
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
    }

    #[test]
    fn plain_text_has_no_markup() {
        assert_eq!(plain("see [x](y) *now* <b>"), "see \\[x\\](y) \\*now\\* \\<b\\>");
    }
}
