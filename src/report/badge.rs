//! The badge: the decision as an SVG, for a README.

use std::io;

use judge::Decision;

use super::Report;

/// Width of ten letters in the badge's font, and the padding of a text, in pixels. As fonts differ, `textLength` makes
/// the text fit.
const TEN_LETTERS: usize = 63;
const MARGIN: usize = 12;

const SUBJECT: &str = "ClusterProfile";

/// Writes the badge as SVG. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let edition = report.judgement.edition;
    let tally = &report.judgement.tally;
    let (words, colour) = match report.judgement.decision {
        Decision::Conformant => (
            format!(
                "conformant, {}/{} MUST rules",
                tally.must.judged(),
                tally.must.rules
            ),
            "#1a7f37",
        ),
        // Grey, and no word of conformance: a whole run may say otherwise.
        Decision::NoViolation if !tally.is_narrowed() => ("no violation".to_owned(), "#57606a"),
        Decision::NoViolation => (
            format!(
                "no violation in {}/{} MUST rules",
                tally.selected_must(),
                tally.must.rules
            ),
            "#57606a",
        ),
        Decision::NotConformant => (
            format!(
                "not conformant, {}/{} MUST rules fail",
                tally.must.failed, tally.must.rules
            ),
            "#cf222e",
        ),
        Decision::Inconclusive => ("inconclusive".to_owned(), "#57606a"),
    };
    // All of it is our own text: nothing to escape.
    let partial = if report.judgement.partial { ", partial" } else { "" };
    let shard = report.judgement.scope.shard;
    let share = shard.map_or_else(String::new, |shard| format!(", share {shard}"));
    let told = format!("{words} ({edition}{share}{partial})");
    let left = width(SUBJECT);
    let right = width(&told);
    let whole = left + right;
    let (subject_at, told_at) = (left / 2, left + right / 2);
    let (subject_wide, told_wide) = (left - MARGIN, right - MARGIN);
    writeln!(
        into,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{SUBJECT}: {told}">
<title>{SUBJECT}: {told}</title>
<clipPath id="round"><rect width="{whole}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><rect width="{left}" height="20" fill="#444c56"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{subject_at}" y="14" textLength="{subject_wide}">{SUBJECT}</text>
<text x="{told_at}" y="14" textLength="{told_wide}">{told}</text>
</g></svg>"##
    )
}

fn width(text: &str) -> usize {
    text.len() * TEN_LETTERS / 10 + MARGIN
}
