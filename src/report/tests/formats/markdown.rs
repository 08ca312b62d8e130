//! What a Markdown report has room for.

use judge::{Verdict, rules::Finding};

use super::support::{markdown::SUMMARY, world::World, written_as};

#[test]
fn a_summary_has_room_for_whatever_is_found() {
    let mut world = World::violating();
    let finding = world
        .judgement
        .verdicts
        .iter()
        .find_map(|verdict| verdict.findings.first())
        .expect("one")
        .clone();
    let findings: Vec<Finding> = (0..50)
        .map(|number| {
            let mut finding = finding.clone();
            finding.object.name = format!("cluster-{number}");
            finding.expected = "\u{e0041}".repeat(2000);
            finding.observed = "日".repeat(2000);
            finding
        })
        .collect();
    let rules = world.judgement.verdicts.len();
    for verdict in &mut world.judgement.verdicts {
        verdict.verdict = Verdict::Fail;
        verdict.findings = findings.clone();
    }
    let text = world.report(|report| written_as("markdown", report));
    assert!(text.len() > SUMMARY / 2, "{} bytes", text.len());
    let output = text.matches("<details open>").count();
    let left_out = format!("… and {} more rules with findings, left out", rules - output);
    assert!(
        output > 10 && output < rules && text.contains(&left_out),
        "{output} of {rules}"
    );
    assert!(text.contains("… and 30 more findings"));
    assert!(text.contains("日… 1,700 more characters"));
}

#[test]
fn waived_rules_show_their_reason() {
    let text = World::violating().report(|report| written_as("markdown", report));
    assert!(
        text.contains("### Waived") && text.contains("waived until 2027-01-01: legacy"),
        "{text}"
    );
    assert!(text.contains("partial: stopped by a signal"), "{text}");
}
