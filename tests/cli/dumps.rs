//! Dumps and records: what a run reads from files.

use super::*;

#[test]
fn empty_list_is_an_inventory_without_profiles() {
    let folder = Folder::new();
    let text = "apiVersion: v1\nkind: List\nitems: []\nmetadata: {resourceVersion: ''}\n";
    let (dump, junit) = (folder.write("empty.yaml", text), folder.flag("report.xml"));
    let run = format!("run --from {dump} --junit {junit}");
    expect_output(3, run, &["there is no ClusterProfile to examine"]);
    assert_contains(&folder.text("report.xml"), &["<testsuite"]);
}

#[test]
fn claim_requires_its_evidence_in_a_dump() {
    for claim in ["--feature consumer-secrets", "--consumer argocd"] {
        let run = format!("run --from conforming.yaml {claim}");
        expect_output(3, run, &["claimed, but the dump holds no Secrets"]);
    }
}

#[test]
fn clusterset_is_declared_by_its_namespace_and_recorded() {
    let rule = "clustersets/namespace-labelled";
    let run = format!("run --from conforming.yaml {rule}");
    // The dump itself declares no ClusterSet.
    expect(3, &run);
    let folder = Folder::new();
    let (record, json) = (folder.flag("evidence.jsonl"), folder.flag("report.json"));
    // Saying it twice is no contradiction.
    let twice = "--clusterset fleet=production --clusterset fleet=production";
    let declared = format!("{run} {twice} --record {record}");
    expect(1, declared);
    expect(1, format!("replay {record} {rule} --json {json}"));
    let report = folder.json("report.json");
    let finding = &verdict_of(&report, rule)["findings"][0];
    assert_eq!(finding["object"]["name"], "fleet");
    assert_eq!(finding["expected"], "production");
    // A flag of the replay replaces what was recorded.
    let replay = format!("replay {record} {rule} --clusterset flet=production");
    let reason = "namespace flet represents a ClusterSet, as declared, but was not seen";
    expect_output(3, replay, &[reason]);
}

#[test]
fn conforming_dump_has_no_violation_and_is_not_called_conformant() {
    let printed = expect(0, "run --from conforming.yaml");
    assert!(!printed.contains("conformant with"), "{printed}");
    assert!(!printed.contains('\u{1b}'), "no colours in a pipe: {printed:?}");
    let words = unwrapped(&printed);
    assert_contains(&words, &["no violation found: "]);
    let (_, needs) = words
        .split_once("2 profiles, single snapshot to check the rest, add ")
        .expect("advice");
    assert_contains(needs, &["a watch", "a driver"]);
}

#[test]
fn violation_is_printed_in_80_columns_with_its_remedy() {
    let mut run = command("run --from violating.yaml identity/manager endpoints conditions/");
    let done = done(run.env("COLUMNS", "80"));
    assert_eq!(done.code, Some(1), "{}{}", done.out, done.err);
    for line in done.out.lines() {
        // A command to copy and a test of the list stay in one line.
        let is_whole = line.starts_with("  explain ") || line.starts_with('[');
        assert!(is_whole || line.chars().count() <= 80, "too wide: {line}");
        assert!(!line.chars().any(char::is_control), "harmful: {line:?}");
    }
    let piped = call("run --from violating.yaml identity/manager");
    let is_whole = |line: &str| line.contains("were not selected") && line.contains("single snapshot");
    assert!(piped.out.lines().any(is_whole), "{}", piped.out);
    // The number of other rules is irrelevant.
    let others = r"\d+\s+were\s+not\s+selected|\d+ of \d+\s+MUST\s+rules\s+judged";
    let others = Regex::new(others).expect("a pattern");
    assert_eq!(others.find_iter(&done.out).count(), 2, "{}", done.out);
    insta::assert_snapshot!(others.replace_all(&done.out, "[others]"));
}

#[test]
fn should_rules_count_under_strict() {
    let run = "run --from violating.yaml conditions/joined-reported conditions/well-formed";
    expect_output(0, run, &["warning   conditions/joined-reported (1 finding): "]);
    let parts = ["1 SHOULD rule fails (", ", strict)"];
    expect_output(1, format!("{run} --strict"), &parts);
}

#[test]
fn replay_gives_the_same_report() {
    let folder = Folder::new();
    let [evidence, first, again] = ["evidence.jsonl.zst", "1.json", "2.json"].map(|name| folder.flag(name));
    let run = format!("run --from violating.yaml --record {evidence} --json {first}");
    expect(1, run);
    expect(1, format!("replay {evidence} --json {again}"));
    let [mut first, mut again] = ["1.json", "2.json"].map(|name| folder.json(name));
    assert_eq!(again["evidence"]["file"], Value::from(evidence));
    assert_eq!(again["decision"], "not-conformant");
    for report in [&mut first, &mut again] {
        (report["judgedAt"], report["evidence"]["file"]) = (Value::Null, Value::Null);
    }
    assert_eq!(first, again);
}

#[test]
fn each_command_bounds_the_files_that_it_reads() {
    let folder = Folder::new();
    let (report, evidence) = (folder.flag("report.yaml"), folder.flag("evidence.jsonl.zst"));
    // The evidence of so many is larger than the report.
    let profile = |number: usize| {
        let annotations = json!({"a": "x".repeat(200)});
        let metadata =
            json!({"name": format!("p{number}"), "namespace": "fleet", "annotations": annotations});
        let api = "multicluster.x-k8s.io/v1alpha1";
        json!({"apiVersion": api, "kind": "ClusterProfile", "metadata": metadata}).to_string()
    };
    let dump: Vec<String> = (0..200).map(profile).collect();
    let dump = folder.write("dump.json", dump.join("\n"));
    let run = format!("run --from {dump} --report {report} --record {evidence}");
    expect(1, run);
    let parts = ["it holds more than 100 bytes, unpacked", "--max-input SIZE"];
    for line in [
        format!("run --from {dump}"),
        format!("run --from {evidence}"),
        format!("replay {evidence}"),
        format!("report diff {report} {report}"),
        format!("report verify {report} {evidence}"),
    ] {
        refused(format!("{line} --max-input 100"), &parts);
    }
    // The report fits, and the evidence does not.
    let size = fs::metadata(&report).expect("a report").len();
    let verify = format!("report verify {report} {evidence} --max-input");
    let parts = ["failed to read the evidence", "--max-input SIZE"];
    refused(format!("{verify} {size}"), &parts);
    expect(0, format!("{verify} 1Mi"));
}
