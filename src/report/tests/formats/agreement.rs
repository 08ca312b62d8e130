//! All formats agree on inventories and waivers.

use std::{fs, path::Path};

use evidence::{
    Digester,
    api::{Edition, Role},
    read_input,
};
use serde_json::{Value, json};

use super::support::{
    agreement::{agree, in_all_ways},
    world::World,
    written_as,
};
use crate::tests::assert_contains;

#[test]
fn formats_agree_on_inventories() {
    let root = Path::new(super::ROOT).join("fixtures");
    let mut tried = 0;
    for entry in fs::read_dir(root.join("managers")).expect("fixtures") {
        let path = entry.expect("a fixture").path();
        // Some only say what is expected of another dump.
        if let Ok(input) = read_input(&path, &Digester::new([7; 32])) {
            in_all_ways(&path.display().to_string(), &input.evidence);
            tried += 1;
        }
    }
    assert!(tried >= 5, "{tried} inventories");
}

#[test]
fn formats_agree_on_waivers_and_an_early_end() {
    World::violating().report(|report| agree("waived", report));
}

/// Each role has a decision of its own, and the run's is the worst.
#[test]
fn the_decision_on_each_role_is_in_all_formats() {
    let mut world = World::violating();
    world.evidence.header.cut_short = None;
    let also = Role::Scheduler.default_edition();
    world.evidence.header.claim.also = Some(also);
    let world = World::of(world.evidence);
    world.report(|report| {
        let of_each = json!([
            {"role": "manager", "edition": Edition::Standard, "decision": "not-conformant"},
            {"role": "scheduler", "edition": also, "decision": "inconclusive"},
        ]);
        let json: Value = serde_json::from_str(&written_as("json", report)).expect("JSON");
        assert_eq!(json["decisions"], of_each);
        assert_eq!(json["roles"], json!(["manager", "scheduler"]));
        let junit = written_as("junit", report);
        let junit = junit_parser::from_reader(junit.as_bytes()).expect("JUnit");
        let property = |name: &str| {
            let mut all = junit.suites[0].properties.vec.iter();
            all.find(|(known, _)| known == name).map(|(_, value)| &**value)
        };
        assert_eq!(property("roles"), Some("manager,scheduler"));
        assert_eq!(property("decision.standard"), Some("not-conformant"));
        assert_eq!(property(&format!("decision.{also}")), Some("inconclusive"));
        let terminal = report::terminal::verdicts(report, report::COMMAND, None, false);
        let sentences = [
            "not conformant with edition standard",
            &format!("inconclusive for edition {also}"),
        ];
        for text in [
            written_as("markdown", report),
            written_as("html", report),
            anstream::adapter::strip_str(&terminal).to_string(),
        ] {
            assert_contains(&text, &sentences);
        }
    });
}

#[test]
fn a_run_of_one_edition_has_one_decision() {
    World::violating().report(|report| {
        assert!(!written_as("junit", report).contains("name=\"decision."));
    });
}
