//! Annotations of a GitHub workflow: lines on standard output that the runner turns into remarks on the job.
//!
//! The runner looks for commands in every line that is printed. No other line is one: [`inert`] sees to that.

use std::{borrow::Cow, fmt::Write as _};

use super::{Report, decision, inert};
use crate::judge::{RuleVerdict, Verdict};

/// How many annotations a step may make of each kind; GitHub drops what is beyond.
const SHOWN: usize = 10;

/// One line for each finding, as far as GitHub takes them, and one for the decision.
pub fn annotations(report: &Report) -> String {
    let mut text = String::new();
    for (command, which) in [("error", Verdict::Fail), ("warning", Verdict::Warn)] {
        let found: Vec<(&RuleVerdict, String)> = report
            .judgement
            .verdicts
            .iter()
            .filter(|verdict| verdict.verdict == which)
            .flat_map(|verdict| {
                verdict.findings.iter().map(move |finding| {
                    let told = format!("{}: {}", finding.object, finding.message);
                    (verdict, told)
                })
            })
            .collect();
        // The last place is for the count of those that have none.
        let shown = if found.len() > SHOWN { SHOWN - 1 } else { SHOWN };
        for (verdict, told) in found.iter().take(shown) {
            let rule = verdict.rule;
            let title = format!("{} [{}]", rule.id, rule.facts.level);
            line(
                &mut text,
                command,
                &title,
                &format!("{told}; remedy: {}", rule.facts.remedy),
            );
        }
        if found.len() > shown {
            let more = decision::count(found.len() - shown, "more finding");
            line(&mut text, command, "clusterprofile-conformance", &more);
        }
    }
    let decided = format!("{}; {}", decision::headline(report), decision::scope(report));
    line(&mut text, "notice", "clusterprofile-conformance", &decided);
    text
}

fn line(text: &mut String, command: &str, title: &str, message: &str) {
    let _ = writeln!(text, "::{command} title={}::{}", property(title), data(message));
}

/// Text of a message: the runner takes the escapes back.
fn data(text: &str) -> String {
    inert::line(text).replace('%', "%25")
}

/// Text of a property, which ends at a comma or colon.
fn property(text: &str) -> Cow<'_, str> {
    data(text).replace(':', "%3A").replace(',', "%2C").into()
}
