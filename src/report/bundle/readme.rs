//! What a bundle says of itself.

use std::fmt::Write as _;

use super::files::{Again, EVIDENCE, File};
use crate::{
    COMMAND, Report,
    formats::markdown::{code, plain},
    html::axis::utc,
    said::decision::headline,
    text::number::{bytes, count},
};

/// The file that a reader opens first.
pub(super) fn text(
    report: &Report,
    selecting: &str,
    (again, redacted): (Again, usize),
    files: &[File],
) -> String {
    let header = &report.evidence.header;
    let mut text = format!(
        "# Conformance bundle\n\n{}: {}.\n\n| | |\n|---|---|\n",
        report.judgement.subject(),
        plain(&headline(report))
    );
    let window = header.window.map(|window| {
        // The suite's own hub may run ahead.
        let is_simulated = report.judged_at < window.until;
        let simulated = if is_simulated { ", simulated time" } else { "" };
        format!("{} to {}{simulated}", utc(window.from), utc(window.until))
    });
    for (name, value) in [
        (
            "judged by",
            Some(format!("{COMMAND} {}", env!("CARGO_PKG_VERSION"))),
        ),
        ("judged at", Some(utc(report.judged_at))),
        (
            "collected by",
            Some(format!("{COMMAND} {}", header.suite_version)),
        ),
        ("hub", Some(header.hub.source.clone())),
        ("Kubernetes of the hub", header.hub.server_version.clone()),
        ("API version", header.hub.api_version.clone()),
        ("watched", window),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = writeln!(text, "| {name} | {} |", code(&value));
        }
    }
    text += "\n## Judge it again\n\nThe same suite gives the same verdicts, without a hub:\n\n";
    if again == Again::Same {
        let _ = writeln!(text, "    {COMMAND} report verify report.yaml {EVIDENCE}");
    }
    let _ = writeln!(text, "    {COMMAND} replay {EVIDENCE}{selecting}\n");
    if !report.judgement.waivers.is_empty() {
        let waivers = "`replay` judges without the waivers, which the reports list.";
        text += &format!("{waivers}\n\n");
    }
    text += &caution(again, redacted);
    text += "## Files\n\n| file | size | holds |\n|---|--:|---|\n";
    for file in files {
        let size = bytes(file.content.len() as u64);
        let _ = writeln!(text, "| {} | {size} | {} |", file.name, file.about);
    }
    text += "\nNo value of a Secret is in it. It names clusters, addresses and users of the hub: attach it only where these may \
             be seen.\n";
    text
}

/// What a reader of other verdicts should know.
fn caution(again: Again, redacted: usize) -> String {
    let mut text = String::new();
    if redacted > 0 {
        let records = count(redacted, "record");
        let _ = writeln!(
            text,
            "Credentials were taken out of {records} of the evidence. Rules on leaked credentials find less when it is judged again.\n"
        );
    }
    if let Again::Differs(parts) = again {
        let _ = writeln!(
            text,
            "Judged again, {} of the report to submit: it is left out. The other reports tell of the run itself.\n",
            match parts {
                1 => "one part differs".to_owned(),
                parts => format!("{parts} parts differ"),
            }
        );
    }
    text
}
