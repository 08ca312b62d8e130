//! How an object came to a finding, as a table that a reader opens.

use std::fmt::Write as _;

use jiff::Timestamp;
use judge::rules::Finding;

use super::markdown::code;
use crate::{
    story::{Event, Story},
    text::number::count,
};

/// Writes a story below the findings of a rule.
pub(super) fn write(text: &mut String, finding: &Finding, story: &Story) {
    let _ = writeln!(
        text,
        "\n<details><summary>How it came about</summary>\n\n{} {}\n\n| time (UTC) | event | by | field | before | after |\n|---|---|---|---|---|---|",
        code(&finding.object.to_string()),
        code(&finding.path),
    );
    for told in &story.events {
        event(text, told);
    }
    if let Some(note) = &story.note {
        let _ = writeln!(text, "\n{note}");
    }
    text.push_str("\n</details>\n");
}

/// Writes an event: a row for each field that changed.
fn event(text: &mut String, event: &Event) {
    let at = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let mut when = event.at.map(at).unwrap_or_default();
    let until = event.until.map(at).filter(|until| *until != when);
    if let (false, Some(until)) = (when.is_empty(), until) {
        let _ = write!(when, " to {until}");
    }
    let mark = if event.sets_field { ", sets the field" } else { "" };
    let first = format!("| {when} | {}{mark} | {} |", event.verb(), code(&event.told()));
    if event.changed.is_empty() {
        let _ = writeln!(text, "{first} | | |");
    }
    for (place, changed) in event.changed.iter().enumerate() {
        let begin = if place == 0 { &*first } else { "| | | |" };
        let _ = writeln!(
            text,
            "{begin} {} | {} | {} |",
            code(&changed.path),
            value(&changed.before),
            value(&changed.after)
        );
    }
    if event.more_changed > 0 {
        let more = count(event.more_changed, "more field");
        let _ = writeln!(text, "| | | | … and {more} | | |");
    }
}

/// Formats a value, and quotes an empty one, which would be invisible.
fn value(value: &Option<String>) -> String {
    match value.as_deref() {
        None => "(absent)".to_owned(),
        Some(text) if text.trim().is_empty() => code(&format!("{text:?}")),
        Some(text) => code(text),
    }
}
