//! Rules, results and notifications of a SARIF report.

use std::env;

use judge::{Verdict, rules};
use serde_json::Value;

use super::support::{
    sarif::{is_sarif, list},
    world::World,
    written_as,
};

fn told(world: &World) -> Value {
    let text = world.report(|report| written_as("sarif", report));
    serde_json::from_str::<Value>(&text).expect("JSON")["runs"][0].take()
}

#[test]
fn every_rule_is_described_within_limits() {
    let world = World::violating();
    let described = list(&told(&world)["tool"]["driver"]["rules"]).len();
    assert_eq!(described, world.judgement.verdicts.len());
    for rule in rules::all() {
        assert!(rule.facts.title.chars().count() <= 1000, "{}", rule.id);
        let reasoning = rule.facts.first().reasoning.as_deref().unwrap_or_default();
        assert!(
            reasoning.chars().count() <= 1000,
            "{}: its description is cut",
            rule.id
        );
    }
}

#[test]
fn results_are_the_findings_and_doubts_are_notifications() {
    let world = World::violating();
    let run = told(&world);
    let verdicts = &world.judgement.verdicts;
    let findings: usize = verdicts.iter().map(|verdict| verdict.findings.len()).sum();
    let waived: usize = verdicts.iter().map(|verdict| verdict.waived.len()).sum();
    let results = list(&run["results"]);
    assert_eq!(results.len(), findings + waived);
    let suppressed: Vec<&Value> = results
        .iter()
        .filter(|result| result["suppressions"].is_array())
        .collect();
    assert_eq!(suppressed.len(), waived);
    assert_eq!(
        suppressed[0]["suppressions"][0]["justification"],
        "legacy (https://issues.example/1), until 2027-01-01"
    );
    let notes = list(&run["invocations"][0]["toolExecutionNotifications"]);
    assert_eq!(
        notes[0]["message"]["text"],
        "the run was cut short: stopped by a signal"
    );
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let doubts = notes
        .iter()
        .filter(|note| note["associatedRule"].is_object())
        .count();
    assert_eq!(doubts, world.count(&[Verdict::Inconclusive]));
    for verdict in verdicts {
        let told = &run["properties"]["verdicts"][verdict.rule.id];
        assert_eq!(told["verdict"], verdict.verdict.name());
        assert_eq!(told["examined"], verdict.examined);
    }
}

/// GitHub takes a relative path for one from the repository's root, and shows the result there.
#[test]
fn results_are_in_the_file_with_the_evidence() {
    let world = World::violating();
    let places = |file: Option<&str>, place: Option<&str>| -> Vec<(String, String)> {
        let text = world.report_from(file, place, |report| written_as("sarif", report));
        is_sarif(&text);
        let run = serde_json::from_str::<Value>(&text).expect("JSON")["runs"][0].take();
        let places = list(&run["results"]).iter().map(|result| {
            let location = &result["locations"][0];
            let uri = &location["physicalLocation"]["artifactLocation"]["uri"];
            let object = &location["logicalLocations"][0]["name"];
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            (text(uri), text(object))
        });
        places.collect()
    };
    let here = env::current_dir().expect("a folder").join("runs/a b.jsonl.zst");
    for (file, uri) in [
        ("runs/evidence.jsonl.zst", "runs/evidence.jsonl.zst"),
        ("./dump.yaml", "dump.yaml"),
        (here.to_str().expect("UTF-8"), "runs/a%20b.jsonl.zst"),
        ("/somewhere/else/dump.yaml", "dump.yaml"),
        ("../dump.yaml", "dump.yaml"),
    ] {
        let places = places(Some(file), Some("conformance.yaml"));
        assert!(
            !places.is_empty() && places.iter().all(|(own, _)| own == uri),
            "{file}: {places:?}"
        );
        assert!(
            places.iter().any(|(_, object)| object.contains('/')),
            "{places:?}"
        );
    }
    for file in [None, Some("-")] {
        let pointed = places(file, Some("ci/driver.yaml"));
        assert!(
            pointed.iter().all(|(uri, _)| uri == "ci/driver.yaml"),
            "{pointed:?}"
        );
        assert!(
            places(file, None).iter().all(|(uri, object)| uri == object),
            "{file:?}"
        );
    }
}

#[test]
fn what_is_found_again_has_the_same_fingerprint() {
    let prints = |world: &World| -> Vec<Value> {
        let run = told(world);
        let results = list(&run["results"]).iter();
        results
            .map(|result| result["partialFingerprints"].clone())
            .collect()
    };
    let mut world = World::violating();
    let first = prints(&world);
    for verdict in &mut world.judgement.verdicts {
        for finding in &mut verdict.findings {
            finding.observed = "something else".to_owned();
            finding.object.resource_version = "another".to_owned();
        }
    }
    assert_eq!(prints(&world), first);
}

#[test]
fn no_more_is_told_than_github_takes_and_the_gravest_stays() {
    let mut world = World::violating();
    let verdicts = &mut world.judgement.verdicts;
    let finding = verdicts
        .iter()
        .find_map(|verdict| verdict.findings.first())
        .expect("one")
        .clone();
    for verdict in verdicts.iter_mut() {
        verdict.findings.clear();
    }
    let should = verdicts
        .iter()
        .position(|verdict| verdict.level().name() == "SHOULD")
        .expect("one");
    let must = verdicts
        .iter()
        .rposition(|verdict| verdict.level().name() == "MUST")
        .expect("one");
    for (place, many) in [(should, 25_000), (must, 10)] {
        verdicts[place].findings = (0..many)
            .map(|number| {
                let mut finding = finding.clone();
                finding.object.name = format!("cluster-{number}");
                finding
            })
            .collect();
    }
    let waived: usize = verdicts.iter().map(|verdict| verdict.waived.len()).sum();
    let run = told(&world);
    let results = list(&run["results"]);
    assert_eq!(results.len(), 25_000);
    let errors = results.iter().filter(|result| result["level"] == "error").count();
    assert_eq!(errors, 10 + waived);
    let notes = list(&run["invocations"][0]["toolExecutionNotifications"]);
    let last = notes.last().expect("a note")["message"]["text"]
        .as_str()
        .expect("text");
    let more = format!("{} more findings: a JSON report has them all", 10 + waived);
    assert!(last.starts_with(&more), "{last}");
}
