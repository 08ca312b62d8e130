//! Unreadable objects, which no rule has examined.

use crate::{
    Report,
    text::{escape, number::count},
};

/// Lists them, one a line: at most `most`, then the number of the others.
pub(crate) fn lines(report: &Report, most: usize) -> Vec<String> {
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
