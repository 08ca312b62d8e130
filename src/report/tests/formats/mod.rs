//! Reports, as their readers see them: parsers, schemas, runners of workflows, and people.

mod agreement;
pub mod support;

use std::{fs, path::Path};

use evidence::{Digester, Evidence, api::Role, read_input};
use jiff::Timestamp;
use judge::{Verdict, rules::Finding};
use proptest::prelude::*;
use report::{Report, escape};
use serde_json::{Value, json};

use self::support::{
    SUMMARY, formats,
    hostile::{HARMS, LONG, does_no_harm, harmful, long},
    world::{World, hostile_world},
    written, written_as, xml,
};

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_format_makes_hostile_text_harmless_and_keeps_it_readable() {
    for harm in HARMS {
        let text = harmful(harm);
        let world = hostile_world(std::slice::from_ref(&text));
        for format in &formats() {
            let output = world.report(|report| written(format, report));
            // What the annotations are made of is checked line by line.
            if format.name != "annotations" {
                does_no_harm(format.name, &output);
            }
            if format.reader.quotes {
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
        if format.reader.for_people && format.name != "annotations" {
            does_no_harm(format.name, &output);
        }
        if format.reader.for_people {
            assert!(output.len() < 4 * LONG, "{}: {} bytes", format.name, output.len());
        }
        match (format.reader.for_people, format.reader.quotes) {
            (true, true) => assert!(output.contains(" more characters"), "{}", format.name),
            // A machine gets all.
            (false, _) => assert!(output.len() > LONG, "{}", format.name),
            _ => {}
        }
    }
}

#[test]
fn a_machine_gets_the_text_as_it_is() {
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

    /// Whatever else a text may hold.
    #[test]
    fn no_text_gets_out_of_its_place(text in r"(?s)([\PC\pC]|[|`\\<>&\]\[:#\n-]|::error::|##\[x\]|\]\]>){0,40}") {
        let text = format!("begin-any {text} end-any");
        let world = hostile_world(std::slice::from_ref(&text));
        for format in &formats() {
            let output = world.report(|report| written(format, report));
            if format.name != "annotations" {
                does_no_harm(format.name, &output);
            }
        }
        // XML gives back what is shown elsewhere.
        let output = world.report(|report| written_as("junit", report));
        let root = xml::read(&output);
        let case = root.children[0].children.iter().find(|child| child.name == "testcase");
        let first = case.expect("a case").children[0].attributes["message"].clone();
        prop_assert!(first.ends_with(&*escape::line(&text)), "{first}");
    }
}

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

/// What each credential holds, to find it in the text around it.
const CANARY: &str = "CANARY0f3c5a7e9b1d2c4f6a8e0b1d";

fn profile() -> Value {
    let web_token = format!("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.{CANARY}");
    let private_key =
        format!("-----BEGIN EC PRIVATE KEY-----\n{CANARY}{CANARY}\n-----END EC PRIVATE KEY-----");
    let kubeconfig = format!("users:\n- name: u\n  user:\n    password: {CANARY}\n");
    let condition = |kind: &str, message: String| {
        json!({"type": kind, "status": "True", "reason": "lower case", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {
            "name": "a", "namespace": "fleet", "uid": "1", "resourceVersion": "1",
            "labels": {"api-token": CANARY},
            "annotations": {"join-password": CANARY, "kubeconfig": kubeconfig},
        },
        "spec": {"displayName": web_token, "clusterManager": {"name": "m"}},
        "status": {
            "version": {"kubernetes": format!("https://u:{CANARY}@h")},
            "properties": [
                {"name": "cluster-endpoints.k8s.io", "value": format!("https://u:{CANARY}@h")},
                {"name": "count.node.k8s.io", "value": format!("token={CANARY}")},
                {"name": "client-secret", "value": CANARY},
                {"name": "key", "value": private_key},
            ],
            "conditions": [
                condition("Joined", format!("Authorization: Bearer {CANARY}")),
                condition("ControlPlaneHealthy", format!("used --token {CANARY}")),
            ],
            "accessProviders": [{"name": "p", "cluster": {
                "server": format!("https://u:{CANARY}@h"),
                "proxy-url": format!("ftp://u:{CANARY}@h"),
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {
                    "args": ["--password", CANARY],
                    "env": [{"name": "DB_PASSWORD", "value": CANARY}],
                    "client-key-data": CANARY,
                }}],
            }}],
        },
    })
}

#[test]
fn no_format_shows_a_credential_that_a_profile_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.json");
    std::fs::write(&path, profile().to_string()).expect("written");
    let evidence = read_input(&path, &Digester::new([7; 32]))
        .expect("a dump")
        .evidence;
    let world = World::of(evidence);
    let verdicts = world.judgement.verdicts.iter();
    let rule = verdicts.filter(|verdict| verdict.rule.id.starts_with("access/no-secrets"));
    let found: Vec<_> = rule
        .flat_map(|verdict| {
            assert_eq!(verdict.verdict, Verdict::Fail);
            &verdict.findings
        })
        .collect();
    assert!(found.len() >= 13, "{found:#?}");
    world.report(|report| {
        for format in &formats() {
            let output = written(format, report);
            assert!(!output.contains(CANARY), "{}: {}", format.name, around(&output));
        }
    });
}

/// Returns the text before the first credential.
fn around(output: &str) -> &str {
    let at = output.find(CANARY).unwrap_or_default();
    let begin = output[..at]
        .char_indices()
        .rev()
        .nth(200)
        .map_or(0, |(begin, _)| begin);
    &output[begin..at + CANARY.len()]
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
        let roles = [Role::Manager, Role::Scheduler];
        let claim = &mut evidence.header.claim;
        claim.also = roles
            .into_iter()
            .find(|role| *role != claim.edition.role())
            .map(Role::default_edition);
        let world = World::of(evidence);
        let report = Report {
            evidence: &world.evidence,
            judgement: &world.judgement,
            selection: &world.selection,
            judged_at: "2026-06-01T00:00:00Z".parse::<Timestamp>().expect("a time"),
            file: None,
            is_whole_file: false,
            editions: &[],
            advice: report::no_advice,
        };
        for format in &formats() {
            let output = written(format, &report);
            for time in NO_TIMES {
                assert!(
                    !output.contains(time),
                    "{} of {name} has {time}: {output}",
                    format.name
                );
            }
        }
    }
}
