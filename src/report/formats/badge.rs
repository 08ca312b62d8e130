//! The badge: the decision as an SVG, for a README.

use std::io;

use evidence::api::Edition;
use judge::{Decision, Tally};

use crate::Report;

/// Width of ten letters in the badge's font, and the padding of a text, in pixels. As fonts differ, `textLength` makes
/// the text fit.
const TEN_LETTERS: usize = 63;
const MARGIN: usize = 12;

/// A badge with no colour of its own: nothing is decided.
const GREY: &str = "#57606a";

/// The remark on a run that was cut short.
pub(crate) const PARTIAL: &str = ", partial";

/// Writes the badge as SVG. Fails only when `into` does.
pub fn write(report: &Report, into: impl io::Write) -> io::Result<()> {
    let judgement = report.judgement;
    let partial = if judgement.partial { PARTIAL } else { "" };
    write_decision(
        &judgement.subject(),
        judgement.decision,
        &judgement.tally,
        &judgement.editions(),
        partial,
        into,
    )
}

/// Writes the badge of a decision on that subject, which rests on that tally. The remarks are our own words.
pub(crate) fn write_decision(
    subject: &str,
    decision: Decision,
    tally: &Tally,
    edition: &str,
    remarks: &str,
    into: impl io::Write,
) -> io::Result<()> {
    let (words, colour) = match decision {
        Decision::Conformant => (
            format!(
                "conformant, {}/{} MUST rules{}",
                tally.must.judged(),
                tally.must.rules,
                match tally.must.waived {
                    0 => String::new(),
                    waived => format!(", {waived} waived"),
                }
            ),
            "#1a7f37",
        ),
        // Grey, and no word of conformance: a whole run may say otherwise.
        Decision::NoViolation => (
            format!(
                "no violation found, {}/{} MUST rules judged",
                tally.must.judged(),
                tally.must.rules
            ),
            GREY,
        ),
        // SHOULD rules count in strict runs, and so do waivers that are of no use.
        Decision::NotConformant if tally.must.failed == 0 => (
            match tally.should.failed {
                0 => "not conformant, by its waivers".to_owned(),
                failed => format!(
                    "not conformant, {failed}/{} SHOULD rules fail",
                    tally.should.rules
                ),
            },
            "#cf222e",
        ),
        Decision::NotConformant => (
            format!(
                "not conformant, {}/{} MUST rules fail",
                tally.must.failed, tally.must.rules
            ),
            "#cf222e",
        ),
        Decision::Inconclusive => ("inconclusive".to_owned(), GREY),
    };
    draw(subject, &format!("{words} ({edition}{remarks})"), colour, into)
}

/// Writes the badge of a report that nobody should rely on. Grey; `words` are our own.
pub(crate) fn write_undecided(words: &str, edition: Edition, into: impl io::Write) -> io::Result<()> {
    draw(
        edition.role().objects().name(),
        &format!("{words} ({edition})"),
        GREY,
        into,
    )
}

/// Draws it. All of it is our own text: nothing to escape.
fn draw(subject: &str, told: &str, colour: &str, mut into: impl io::Write) -> io::Result<()> {
    let left = width(subject);
    let right = width(told);
    let whole = left + right;
    let (subject_at, told_at) = (left / 2, left + right / 2);
    let (subject_wide, told_wide) = (left - MARGIN, right - MARGIN);
    writeln!(
        into,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{subject}: {told}">
<title>{subject}: {told}</title>
<clipPath id="round"><rect width="{whole}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><rect width="{left}" height="20" fill="#444c56"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{subject_at}" y="14" textLength="{subject_wide}">{subject}</text>
<text x="{told_at}" y="14" textLength="{told_wide}">{told}</text>
</g></svg>"##
    )
}

fn width(text: &str) -> usize {
    text.len() * TEN_LETTERS / 10 + MARGIN
}
