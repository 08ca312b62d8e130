//! Objects that could not be read, which no rule has looked at.

use super::{Report, escape, number::count};

/// Each of them on a line, at most `most` and then how many more there are; empty where all could be read.
pub(super) fn lines(report: &Report, most: usize) -> Vec<String> {
    let unreadable = &report.evidence.unreadable;
    let told = unreadable.iter().take(most);
    let mut lines: Vec<String> = told
        .map(|unreadable| escape::line(&unreadable.to_string()).into_owned())
        .collect();
    if unreadable.len() > most {
        let more = count(unreadable.len() - most, "more object");
        lines.push(format!("… and {more}: a JSON report has them all"));
    }
    lines
}
