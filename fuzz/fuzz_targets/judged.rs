//! What follows the reading of any evidence.

use evidence::Evidence;
use judge::{Selection, judge};
use report::{COMMAND, Report, json, junit, terminal};

/// Judges the evidence and tells of it in every way.
pub fn judged(evidence: &Evidence) {
    let selection = Selection::default();
    let judgement = judge(evidence, &selection);
    let report = Report::new(evidence, &judgement, &selection, Default::default());
    terminal::verdicts(&report, COMMAND, Some(80), true);
    json::write(&report, std::io::sink()).expect("a sink takes all");
    junit::write(&report, std::io::sink()).expect("a sink takes all");
}
