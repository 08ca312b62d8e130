//! The badge: the decision as an SVG, for a README.

use std::io;

use judge::{Decision, Tally};

use crate::Report;

/// The width of ten letters in the font of the badge, and the padding of a text, in pixels. Fonts differ; `textLength`
/// makes the text fit.
const TEN_LETTERS: usize = 63;
const PADDING: usize = 12;

const GREEN: &str = "#1a7f37";
const RED: &str = "#cf222e";
const GREY: &str = "#57606a";

/// Writes the badge as SVG. Fails only when `into` does.
pub fn write(report: &Report, mut into: impl io::Write) -> io::Result<()> {
    let judgement = report.judgement;
    let (decision, color) = in_words(judgement.decision, &judgement.tally);
    let partial = if judgement.partial { ", partial" } else { "" };
    // All of it is our own text: nothing to escape.
    let subject = judgement.subject();
    let text = format!("{decision} ({}{partial})", judgement.editions());
    let [left, right] = [&subject, &text].map(|text| text.len() * TEN_LETTERS / 10 + PADDING);
    let (whole, subject_at, text_at) = (left + right, left / 2, left + right / 2);
    let (subject_width, text_width) = (left - PADDING, right - PADDING);
    writeln!(
        into,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{subject}: {text}">
<title>{subject}: {text}</title>
<clipPath id="round"><rect width="{whole}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)"><rect width="{left}" height="20" fill="#444c56"/><rect x="{left}" width="{right}" height="20" fill="{color}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{subject_at}" y="14" textLength="{subject_width}">{subject}</text>
<text x="{text_at}" y="14" textLength="{text_width}">{text}</text>
</g></svg>"##
    )
}

/// The decision with its counts, and its color. Only `Conformant` is green.
fn in_words(decision: Decision, tally: &Tally) -> (String, &'static str) {
    let (must, should) = (&tally.must, &tally.should);
    let rules = format!("{}/{} MUST rules", must.judged(), must.rules);
    match (decision, must.failed, should.failed) {
        (Decision::Conformant, ..) if must.waived > 0 => {
            (format!("conformant, {rules}, {} waived", must.waived), GREEN)
        }
        (Decision::Conformant, ..) => (format!("conformant, {rules}"), GREEN),
        (Decision::NoViolation, ..) => (format!("no violation found, {rules} judged"), GREY),
        // A strict run also fails by SHOULD rules and by waivers that are not needed.
        (Decision::NotConformant, 0, 0) => ("not conformant, by its waivers".to_owned(), RED),
        (Decision::NotConformant, 0, failed) => (
            format!("not conformant, {failed}/{} SHOULD rules fail", should.rules),
            RED,
        ),
        (Decision::NotConformant, failed, _) => (
            format!("not conformant, {failed}/{} MUST rules fail", must.rules),
            RED,
        ),
        (Decision::Inconclusive, ..) => ("inconclusive".to_owned(), GREY),
    }
}
