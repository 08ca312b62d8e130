//! A Pod's termination message: the decision and its reasons, in as many bytes as Kubernetes keeps.

use std::{collections::BTreeMap, io};

use judge::{
    Verdict,
    rules::{Level, Rule},
};

use crate::{
    Report,
    said::{decision, failure},
    text::escape,
};

/// The number of bytes that Kubernetes keeps of a container's message.
const LONGEST: usize = 4096;
/// The number of characters of a line, so that one reason leaves room for others.
const LONGEST_LINE: usize = 600;

/// Writes the decision, the broken rules, and why MUST rules are inconclusive: one line each.
///
/// # Errors
/// Only when `into` fails.
pub fn write(report: &Report, into: impl io::Write) -> io::Result<()> {
    let mut lines = vec![format!(
        "{}; {}",
        decision::headline(report),
        decision::scope(report)
    )];
    let verdicts = &report.judgement.verdicts;
    let of = |which: Verdict| verdicts.iter().filter(move |verdict| verdict.verdict == which);
    for verdict in of(Verdict::Fail) {
        let Rule { id, facts, .. } = verdict.rule;
        let extent = failure::extent(verdict);
        let weight = verdict.applies.weight();
        lines.push(format!("[{weight}] {id}: {} ({extent})", facts.title));
    }
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for verdict in of(Verdict::Inconclusive).filter(|verdict| verdict.level() == Level::Must) {
        let reason = report.reason(verdict).unwrap_or_default();
        reasons.entry(reason).or_default().push(verdict.rule.id);
    }
    for (reason, rules) in reasons {
        lines.push(format!("inconclusive: {reason} ({})", rules.join(", ")));
    }
    write_lines(&lines, into)
}

/// Writes why there is no decision.
///
/// # Errors
/// Only when `into` fails.
pub fn write_failure(told: &str, into: impl io::Write) -> io::Result<()> {
    write_lines(&told.lines().collect::<Vec<_>>(), into)
}

/// Writes whole lines, and counts those for which there is no room.
fn write_lines(lines: &[impl AsRef<str>], mut into: impl io::Write) -> io::Result<()> {
    let room_for_count = "… and 1000 more lines\n".len();
    let mut left = LONGEST - room_for_count;
    for (place, line) in lines.iter().enumerate() {
        let line = escape::short(line.as_ref(), LONGEST_LINE);
        if line.len() + 1 > left {
            return writeln!(into, "… and {} more lines", lines.len() - place);
        }
        left -= line.len() + 1;
        writeln!(into, "{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(told: &str) -> String {
        let mut bytes = Vec::new();
        write_failure(told, &mut bytes).expect("a vector takes all");
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn what_kubernetes_would_cut_is_counted() {
        let short = "the hub forbids it\nkind: ClusterRole\n";
        assert_eq!(written(short), short);
        let long = written(&"a line of some length\n".repeat(300));
        assert!(long.len() <= LONGEST, "{}", long.len());
        let kept = long.matches("a line").count();
        assert!(kept > 150);
        assert!(
            long.ends_with(&format!("length\n… and {} more lines\n", 300 - kept)),
            "{long}"
        );
        let wide = written(&"é".repeat(5000));
        assert!(
            wide.len() <= LONGEST && wide.contains("more characters"),
            "{wide}"
        );
    }
}
