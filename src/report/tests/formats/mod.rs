//! Reports as their readers see them: parsers, schemas, workflow runners, and people.

mod agreement;
pub mod support;

use std::{fs, path::Path};

use evidence::{Digester, Evidence, api::Role, read_input};
use judge::{Verdict, rules::Finding};
use proptest::prelude::*;
use report::{Report, escape};

use self::support::{
    SUMMARY, formats,
    hostile::{HARMS, LONG, harmful, long},
    world::{World, hostile_world},
    written, written_as, xml,
};
use crate::tests::assert_contains;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn hostile_text_is_harmless_and_readable_in_every_format() {
    for harm in HARMS {
        let text = harmful(harm);
        let world = hostile_world(std::slice::from_ref(&text));
        for format in &formats() {
            let output = world.report(|report| written(format, report));
            if format.quotes {
                // Readers see wrapped lines as one text.
                let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
                for word in ["begin", "end"] {
                    let word = format!("{word}-{}", harm.0);
                    assert!(words.contains(&word), "{}: {word} is gone: {output}", format.name);
                }
            }
        }
    }
}

#[test]
fn formats_for_people_cut_long_text() {
    let long = hostile_world(&[harmful(&HARMS[0]), long()]);
    for format in &formats() {
        let output = long.report(|report| written(format, report));
        if format.for_people {
            assert!(output.len() < 4 * LONG, "{}: {} bytes", format.name, output.len());
        }
        match (format.for_people, format.quotes) {
            (true, true) => assert!(output.contains(" more characters"), "{}", format.name),
            // A program gets the whole text.
            (false, _) => assert!(output.len() > LONG, "{}", format.name),
            _ => {}
        }
    }
}

#[test]
fn json_has_the_text_as_it_is() {
    for harm in HARMS {
        let text = harmful(harm);
        let output = hostile_world(std::slice::from_ref(&text)).report(|report| written_as("json", report));
        let report: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        assert_eq!(report["verdicts"][0]["findings"][0]["observed"], text);
        assert_eq!(report["verdicts"][3]["reason"], text);
        assert_eq!(report["evidence"]["source"], text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]

    /// Any text.
    #[test]
    fn no_text_leaves_its_place(text in r"(?s)([\PC\pC]|[|`\\<>&\]\[:#\n-]|::error::|##\[x\]|\]\]>){0,40}") {
        let text = format!("begin-any {text} end-any");
        let world = hostile_world(std::slice::from_ref(&text));
        for format in &formats() {
            world.report(|report| written(format, report));
        }
        let output = world.report(|report| written_as("junit", report));
        let root = xml::read(&output);
        let case = root.children[0].children.iter().find(|child| child.name == "testcase");
        let first = case.expect("a case").children[0].attributes["message"].clone();
        prop_assert!(first.ends_with(&*escape::line(&text)), "{first}");
    }
}

#[test]
fn markdown_stays_within_the_limit_of_a_summary() {
    let mut world = World::violating();
    let verdicts = &mut world.judgement.verdicts;
    let finding = verdicts.iter().find_map(|verdict| verdict.findings.first());
    let mut finding = finding.expect("a finding").clone();
    finding.expected = "\u{e0041}".repeat(2000);
    finding.observed = "日".repeat(2000);
    let findings: Vec<Finding> = (0..50)
        .map(|number| {
            finding.object.name = format!("cluster-{number}");
            finding.clone()
        })
        .collect();
    let rules = verdicts.len();
    for verdict in verdicts {
        verdict.verdict = Verdict::Fail;
        verdict.findings = findings.clone();
    }
    let text = world.report(|report| written_as("markdown", report));
    assert!(text.len() > SUMMARY / 2, "{} bytes", text.len());
    let output = text.matches("<details open>").count();
    let left_out = format!("… and {} more rules with findings, left out", rules - output);
    assert!(output > 10 && output < rules, "{output} of {rules}");
    let parts = [&left_out, "… and 30 more findings", "日… 1,700 more characters"];
    assert_contains(&text, &parts);
}

#[test]
fn waived_rules_show_their_reason() {
    let text = World::violating().report(|report| written_as("markdown", report));
    assert_contains(&text, &["### Waived", "waived until 2027-01-01: legacy"]);
    assert_contains(&text, &["partial: stopped by a signal"]);
}

/// The text of a missing time, if a format prints it.
const NO_TIMES: [&str; 3] = ["1970-", "-009999-", "9999-12-3"];

fn dumps() -> Vec<(String, Evidence)> {
    let mut dumps = Vec::new();
    for folder in ["fixtures/topologies", "fixtures/managers", "tests/cli"] {
        for entry in fs::read_dir(Path::new(ROOT).join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if let Ok(input) = read_input(&path, &Digester::new([7; 32])) {
                dumps.push((path.display().to_string(), input.evidence));
            }
        }
    }
    dumps.retain(|(_, evidence)| evidence.header.window.is_none());
    dumps
}

#[test]
fn no_format_shows_a_time_of_a_dump() {
    let dumps = dumps();
    assert!(dumps.len() >= 8, "{} dumps", dumps.len());
    for (name, mut evidence) in dumps {
        let claim = &mut evidence.header.claim;
        let other = match claim.edition.role() {
            Role::Manager => Role::Scheduler,
            _ => Role::Manager,
        };
        claim.also = Some(other.default_edition());
        let world = World::of(evidence);
        let judged_at = "2026-06-01T00:00:00Z".parse().expect("a time");
        let report = Report::new(&world.evidence, &world.judgement, &world.selection, judged_at);
        for format in &formats() {
            let output = written(format, &report);
            for time in NO_TIMES {
                let name = format!("{} of {name}", format.name);
                assert!(!output.contains(time), "{name} has {time}: {output}");
            }
        }
    }
}
