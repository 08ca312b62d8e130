//! GitHub annotations: lines on standard output that the runner shows on the job.
//!
//! A step may have ten of each kind, so each rule gets one, with its first findings. The runner looks for commands in
//! every printed line; [`escape`] makes sure that no other line is one.

use judge::{RuleVerdict, Verdict};

use crate::{
    Report,
    summary::{decision, findings},
    text::{count, escape},
};

/// How many annotations a step may make of each kind; GitHub drops what is beyond.
const SHOWN: usize = 10;

/// The number of findings to show for a rule, and of characters for each: GitHub shows a few thousand characters.
const FINDINGS: usize = 3;
const LONGEST: usize = 500;

/// The title of annotations that belong to no rule.
const SUITE: &str = "clusterprofile-conformance";

/// Writes an error for each broken rule, a warning for each rule with warnings, up to GitHub's limits, and a notice
/// with the decision.
pub fn annotations(report: &Report) -> String {
    let mut text = String::new();
    for (command, which) in [("error", Verdict::Fail), ("warning", Verdict::Warn)] {
        let verdicts = report.judgement.verdicts.iter();
        let selected: Vec<&RuleVerdict> = verdicts.filter(|verdict| verdict.verdict == which).collect();
        // The last annotation counts the omitted rules.
        let most = if selected.len() > SHOWN { SHOWN - 1 } else { SHOWN };
        for verdict in selected.iter().take(most) {
            let rule = verdict.rule;
            let title = format!("{} [{}]", rule.id, verdict.applies.weight());
            text += &line(command, &title, &lines(verdict));
        }
        if selected.len() > most {
            let more = count(selected.len() - most, "more rule");
            text += &line(command, SUITE, &[format!("{more}: see the log")]);
        }
    }
    let decided = format!("{}; {}", decision::headline(report), decision::scope(report));
    text + &line("notice", SUITE, &[decided])
}

fn lines(verdict: &RuleVerdict) -> Vec<String> {
    let facts = &verdict.rule.facts;
    let mut lines = vec![format!("{} ({})", facts.title, findings::extent(verdict))];
    for finding in verdict.findings.iter().take(FINDINGS) {
        let mut line = format!("{}: {}", finding.object, finding.message);
        for (name, value) in findings::values(finding) {
            line += &format!("; {name} {value}");
        }
        lines.push(escape::short(&line, LONGEST).into_owned());
    }
    if verdict.found() > FINDINGS {
        let more = count(verdict.found() - FINDINGS, "more finding");
        lines.push(format!("… and {more}"));
    }
    lines.push(format!("remedy: {}", facts.remedy));
    lines.push(format!("{SUITE} explain {}", verdict.rule.id));
    lines
}

/// The runner unescapes these line breaks within an annotation.
fn line(command: &str, title: &str, lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| data(line)).collect();
    format!("::{command} title={}::{}\n", property(title), lines.join("%0A"))
}

/// Text within a line of a message.
fn data(text: &str) -> String {
    escape::line(text).replace('%', "%25")
}

/// Text of a property, which ends at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
