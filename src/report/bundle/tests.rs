//! What a bundle holds, and what it must not.

use std::io::Cursor;

use evidence::{Digester, DriverAction, Evidence, HookCall, Limits, Stage, api::Edition, read_packed};
use jiff::Timestamp;
use judge::{Selection, judge, rules::example::Example};
use serde_json::json;

use super::{File, files};
use crate::Report;

/// A fleet with credentials in the open, and a hook that prints one. What a rule calls a credential is long.
fn leaking(edition: Edition) -> Evidence {
    let secret = "CANARY0f3c5a7e9b1d2c4f6a8e0b1d";
    let world = json!({
        "profiles": [{"metadata": {"annotations": {"join-password": secret}}, "status": {"properties": [
            {"name": "client-secret", "value": secret}, {"name": "note", "value": format!("https://u:{secret}@h")},
        ]}}],
        "driver": {"steps": [{"action": "restart", "at": "10s"}]},
        "steps": [{"at": "20s", "change": {"metadata": {"annotations": {"join-password": format!("{secret}2")}}}}],
    });
    let example = Example::parse(&json!({"name": "a world", "fails": world}), edition);
    let mut evidence = example
        .unwrap_or_else(|error| panic!("{error}"))
        .evidence()
        .clone();
    let step = &mut evidence.driver.as_mut().expect("a driver").steps[0];
    step.output = format!("restarted\n\u{1b}[2Jtoken={secret}");
    evidence.stage = Some(Stage {
        hook_calls: vec![HookCall {
            action: DriverAction::Uninstall,
            from: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
            failure: None,
            output: format!("uninstalled\npassword={secret}"),
        }],
        ..Stage::default()
    });
    evidence
}

fn bundle_of(evidence: &Evidence) -> Vec<File> {
    let selection = Selection::default();
    let report = Report {
        evidence,
        judgement: &judge(evidence, &selection),
        selection: &selection,
        judged_at: Timestamp::UNIX_EPOCH,
        file: Some("/home/somebody/evidence.jsonl"),
        place: None,
        advice: crate::no_advice,
    };
    files(&report, "").expect("a bundle")
}

fn text(bundle: &[File], name: &str) -> String {
    let file = bundle.iter().find(|file| file.name == name);
    let file = file.unwrap_or_else(|| panic!("no {name}"));
    String::from_utf8(file.content.clone()).expect("UTF-8")
}

/// Reads the bundle's evidence back.
fn evidence_in(bundle: &[File]) -> Evidence {
    let file = bundle
        .iter()
        .find(|file| file.name.ends_with(".zst"))
        .expect("evidence");
    let content = Cursor::new(file.content.clone());
    let input = read_packed(content, file.name, &Digester::new([7; 32]), &Limits::default());
    input.unwrap_or_else(|error| panic!("{error}")).evidence
}

#[test]
fn no_file_of_a_bundle_holds_a_credential() {
    let bundle = bundle_of(&leaking(Edition::Standard));
    for file in bundle.iter().filter(|file| !file.name.ends_with(".zst")) {
        let text = text(&bundle, file.name);
        assert!(!text.contains("CANARY"), "{}: {text}", file.name);
        assert!(!text.contains("/home/somebody"), "{}", file.name);
    }
    let evidence = evidence_in(&bundle);
    let told = serde_json::to_string(&evidence).expect("JSON");
    assert!(!told.contains("CANARY"), "{told}");
    assert_eq!(evidence.profiles[0].versions.len(), 2, "the versions are there");
    let hooks = text(&bundle, "hooks.txt");
    assert!(
        hooks.contains("# restart (restart)") && hooks.contains("\nrestarted\n"),
        "{hooks}"
    );
    assert!(hooks.contains("\\u{1b}[2Jtoken=…"), "{hooks}");
    assert!(
        hooks.contains("# uninstall from") && hooks.contains("\nuninstalled\n"),
        "{hooks}"
    );
}

#[test]
fn a_bundle_tells_what_differs_without_credentials() {
    let bundle = bundle_of(&leaking(Edition::Standard));
    let readme = text(&bundle, "README.md");
    assert!(readme.contains("Credentials were taken out of"), "{readme}");
    // What rules said of the credentials cannot be verified without them.
    assert!(
        readme.contains("of the report to submit: it is left out"),
        "{readme}"
    );
    assert!(!readme.contains("report verify") && !bundle.iter().any(|file| file.name == "report.yaml"));
    assert!(
        readme.contains("    clusterprofile-conformance replay evidence.jsonl.zst\n"),
        "{readme}"
    );
}

#[test]
fn a_bundle_of_clean_evidence_holds_it_all() {
    let mut evidence = leaking(Edition::Standard);
    let other = Example::parse(
        &json!({"name": "a world", "fails": {"steps": []}}),
        Edition::Standard,
    );
    evidence.profiles = other.expect("an example").evidence().profiles.clone();
    evidence.driver = None;
    evidence.stage = None;
    let bundle = bundle_of(&evidence);
    let names: Vec<&str> = bundle.iter().map(|file| file.name).collect();
    assert_eq!(
        names,
        [
            "README.md",
            "report.html",
            "report.md",
            "report.json",
            "report.yaml",
            "evidence.jsonl.zst"
        ]
    );
    assert_eq!(evidence_in(&bundle).profiles, evidence.profiles);
    let readme = text(&bundle, "README.md");
    assert!(readme.contains("    clusterprofile-conformance report verify report.yaml evidence.jsonl.zst\n"));
    assert!(!readme.contains("taken out"), "{readme}");
    assert!(text(&bundle, "report.yaml").contains("file: evidence.jsonl.zst"));
}
