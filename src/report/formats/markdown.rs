//! The report in Markdown, for a pull request or a job's summary (`$GITHUB_STEP_SUMMARY`).
//!
//! Hub text is only in code spans, where Markdown interprets nothing.

use std::{fmt::Write as _, io, path::Path};

use judge::{Decision, RuleVerdict, Selection, Verdict, rules::Finding};

use crate::{
    COMMAND, Report,
    summary::{
        self, VerdictTable, decision,
        findings::{extent, remarked},
        shown_verdict,
        sources::cited,
    },
    text::{count, escape, file_argument},
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
    for complaint in report.judgement.complaints() {
        let _ = writeln!(text, "> ⚠️ {}\n", plain(&complaint));
    }
    let tail = unjudged(report) + &reproduce(report);
    let space = LONGEST.saturating_sub(tail.len());
    let mut left_out = 0;
    for (heading, which) in [
        ("Failures", Verdict::Fail),
        ("Warnings", Verdict::Warn),
        ("Waived", Verdict::Waived),
    ] {
        left_out += findings(&mut text, report, heading, which, space);
    }
    if left_out > 0 {
        let more = count(left_out, "more rule");
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
    let cost = summary::cost(report).map_or_else(String::new, |cost| format!(" (cost to the hub: {cost})"));
    let _ = writeln!(
        text,
        "## {sign} {}: {}\n\n{}\n\nHub: {}{cost}, judged by clusterprofile-conformance {}\n",
        report.judgement.subject(),
        decision::headline(report),
        // It quotes names of the user's own, made one line.
        plain(&decision::scope(report)),
        code(source),
        crate::VERSION,
    );
}

fn counts(text: &mut String, report: &Report) {
    let table = VerdictTable::of(&report.judgement.verdicts);
    let names = Vec::from_iter(table.verdicts.iter().map(|verdict| verdict.words()));
    let _ = writeln!(text, "| level | rules | {} |", names.join(" | "));
    let _ = writeln!(text, "|---|--:|{}", "--:|".repeat(names.len()));
    for (level, rules, counts) in table.levels {
        let counts = Vec::from_iter(counts.iter().map(usize::to_string));
        let _ = writeln!(text, "| {level} | {rules} | {} |", counts.join(" | "));
    }
    text.push('\n');
    let editions = summary::editions(report);
    if !editions.is_empty() {
        text.push_str("| edition | all rules | explicit rules only |\n|---|---|---|\n");
        for row in editions {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        text.push('\n');
    }
}

/// Lists the rules with that verdict while there is room, and counts the others.
fn findings(text: &mut String, report: &Report, heading: &str, which: Verdict, space: usize) -> usize {
    let verdicts = report.judgement.verdicts.iter();
    let verdicts: Vec<&RuleVerdict> = verdicts.filter(|verdict| verdict.verdict == which).collect();
    if !verdicts.is_empty() {
        let _ = writeln!(text, "### {heading}\n");
    }
    let mut left_out = 0;
    for rule in verdicts.into_iter().map(rule) {
        if text.len() + rule.len() + 1000 <= space {
            *text += &rule;
        } else {
            left_out += 1;
        }
    }
    left_out
}

fn rule(verdict: &RuleVerdict) -> String {
    let facts = &verdict.rule.facts;
    let open = if verdict.verdict == Verdict::Fail {
        " open"
    } else {
        ""
    };
    let (id, weight, extent) = (verdict.rule.id, verdict.applies.weight(), extent(verdict));
    let mut text = format!(
        "<details{open}><summary><b>{id}</b> [{weight}] {}: {extent}</summary>\n\n",
        facts.title
    );
    if let (Verdict::Waived, Some(reason)) = (verdict.verdict, verdict.reason()) {
        let _ = writeln!(text, "{}\n", plain(&reason));
    }
    text.push_str("| object | field | expected | observed | |\n|---|---|---|---|---|\n");
    for (finding, remark) in remarked(verdict).take(SHOWN) {
        let Finding {
            path,
            expected,
            observed,
            message,
            ..
        } = finding;
        let [object, path, expected, observed, message] =
            [&finding.object.to_string(), path, expected, observed, message].map(|text| code(text));
        let _ = writeln!(
            text,
            "| {object} | {path} | {expected} | {observed} | {message}{remark} |"
        );
    }
    let hidden = (verdict.found() + verdict.waived.len()).saturating_sub(SHOWN);
    if hidden > 0 {
        let _ = writeln!(
            text,
            "\n… and {} (the JSON report has them all)",
            count(hidden, "more finding")
        );
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

fn unjudged(report: &Report) -> String {
    let is_unjudged = |verdict: &&RuleVerdict| {
        matches!(
            verdict.verdict,
            Verdict::Inconclusive | Verdict::NotApplicable | Verdict::Skipped
        )
    };
    let unjudged: Vec<&RuleVerdict> = report.judgement.verdicts.iter().filter(is_unjudged).collect();
    if unjudged.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<details><summary>{} not judged</summary>\n\n| rule | level | basis | verdict | why |\n|---|---|---|---|---|\n",
        count(unjudged.len(), "rule")
    );
    for verdict in unjudged {
        let (id, level, basis, name) = (
            verdict.rule.id,
            verdict.level(),
            verdict.basis(),
            shown_verdict(verdict).words(),
        );
        let why = code(&report.reason(verdict).unwrap_or_default());
        let _ = writeln!(text, "| {id} | {level} | {basis} | {name} | {why} |");
    }
    text + "\n</details>\n"
}

/// The command that judges the evidence again, if a file and the edition alone give the same report.
fn reproduce(report: &Report) -> String {
    let is_same_report = report.is_whole_file
        && report.evidence.header.window.is_some()
        && *report.selection == Selection::default()
        && report.judgement.waivers.is_empty();
    // The names of folders may reveal the machine and its user.
    let file = report.file.filter(|file| is_same_report && is_stored(file));
    let Some(file) = file.and_then(|file| Path::new(file).file_name()) else {
        return String::new();
    };
    // The flag names one edition; the evidence has the editions of two roles.
    let edition = match report.judgement.also {
        None => format!(" --edition {}", report.judgement.edition),
        Some(_) => String::new(),
    };
    let file = file_argument(&file.to_string_lossy());
    let command = format!("{COMMAND} replay {file}{edition}");
    format!("\n### Reproduce\n\n{}\n", code(&command))
}

/// Whether the path names a regular file, not a stream.
fn is_stored(file: &str) -> bool {
    file != "-" && !file.starts_with("/dev/")
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
    let mut escaped = String::with_capacity(text.len());
    for c in escape::line(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&'
        ) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use evidence::{Evidence, Window};
    use jiff::Timestamp;
    use judge::{Waivers, judge};

    use super::*;
    use crate::tests::report_of;

    #[test]
    fn command_reproduces_the_report_or_is_omitted() {
        let mut evidence = Evidence::default();
        let judgement = judge(&evidence, &Selection::default());
        assert_eq!(reproduce(&report_of(&evidence, &judgement)), "");
        evidence.header.window = Some(Window {
            from: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
        });
        let report = report_of(&evidence, &judgement);
        let of = |file: &str| {
            let file = Some(file);
            reproduce(&Report { file, ..report })
        };
        assert!(of("a/b.jsonl").contains("replay b.jsonl --edition standard`"));
        assert!(of("a/my run.jsonl").contains("replay ./'my run.jsonl' --edition"));
        for stream in ["-", "/dev/stdin"] {
            assert_eq!(of(stream), "");
        }
        let part = Report {
            is_whole_file: false,
            ..report
        };
        assert_eq!(reproduce(&part), "");
        let mut waived = judgement.clone();
        let waivers = "waivers: [{rule: identity/manager-label-present, reason: old, link: 'https://a.example/1', \
                       expires: 2027-01-01}]";
        let waivers = Waivers::parse(waivers).expect("waivers");
        waived.waive(&waivers, "2026-06-01".parse().expect("a day"), false);
        let judgement = &waived;
        assert_eq!(reproduce(&Report { judgement, ..report }), "");
    }

    #[test]
    fn text_is_one_code_span_or_plain() {
        for (text, span) in [
            ("a", "`a`"),
            ("", ""),
            ("a`b``c", "```a`b``c```"),
            ("`x", "`` `x ``"),
            ("<b>|\n", "`<b>\\|\\n`"),
            // A bar after two backslashes would end the cell.
            ("a\\|b", "`a\\\\u{7c}b`"),
        ] {
            assert_eq!(code(text), span);
        }
        assert_eq!(plain("see [x](y) *now* <b>"), "see \\[x\\](y) \\*now\\* \\<b\\>");
    }
}
