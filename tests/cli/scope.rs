//! Names in the scope that the hub does not have, and flags of an API that is not judged.

use super::*;

const LAB: [&str; 5] = ["run", "--hub", "lab", "--manager", "reference"];

fn refused_in_the_lab(more: &[&str], told: &[&str]) {
    refused(&[&LAB[..], more].concat(), told);
}

#[test]
fn a_scope_without_objects_is_refused_at_once_with_what_there_is() {
    let waits = "--wait";
    refused_in_the_lab(&["-n", "nope"], &["no ClusterProfile in namespace nope", waits]);
    refused_in_the_lab(
        &["--cluster-manager", "nope"],
        &["no ClusterProfile of manager nope", waits],
    );
    refused_in_the_lab(
        &["-n", "lab-fleet", "--cluster-manager", "nope"],
        &["of manager nope in namespace lab-fleet", waits],
    );
    refused_in_the_lab(
        &["--role", "scheduler", "--scheduler", "nope"],
        &["no PlacementDecision of scheduler nope", waits],
    );
    refused_in_the_lab(
        &["--role", "manager,scheduler", "-n", "nope"],
        &["in namespace nope"],
    );
    // One of several may be misspelt, too.
    refused_in_the_lab(
        &["-n", "lab-fleet", "-n", "nope", "-n", "lab-flet"],
        &["no ClusterProfile in namespaces nope, lab-flet;", waits],
    );
    let all = ["--role", "manager,scheduler", "-n", "lab-fleet", "-n", "nope"];
    refused_in_the_lab(&all, &["in namespace nope;"]);
}

#[test]
fn a_run_waits_for_a_scope_if_told_to() {
    let told = expect(3, &[&LAB[..], &["-n", "nope", "--wait"]].concat());
    assert!(told.contains("; 0 profiles"), "{told}");
}

#[test]
fn doctor_is_not_ready_for_a_scope_without_objects() {
    let doctor = ["doctor", "--hub", "lab", "--manager", "reference", "-n", "nope"];
    let told = expect(2, &doctor);
    assert!(told.contains("no ClusterProfile in namespace nope"), "{told}");
    assert!(told.contains("not ready"), "{told}");
    expect(0, &[&doctor[..], &["--wait"]].concat());
    let several = [
        "doctor",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "-n",
        "lab-fleet",
        "-n",
        "nope",
    ];
    let told = expect(2, &several);
    assert!(told.contains("no ClusterProfile in namespace nope"), "{told}");
}

#[test]
fn flags_of_a_role_that_is_not_judged_are_refused() {
    for (flag, value) in [
        ("--scheduler", "s"),
        ("--scheduler-user", "s"),
        ("--scheduler-agent", "s"),
        ("--scheduler-field-manager", "s"),
    ] {
        refused_in_the_lab(&[flag, value], &[flag, "it applies only to --role scheduler"]);
    }
    for (flag, value) in [
        ("--cluster-manager", "m"),
        ("--cluster-manager-user", "m"),
        ("--cluster-manager-agent", "m"),
        ("--expect-profiles", "3"),
        ("--feature", "consumer-secrets"),
        ("--consumer", "c"),
        ("--clusterset", "n=s"),
        ("--node-tolerance", "1"),
        ("--members", "from-secrets"),
    ] {
        let placement = ["--role", "scheduler", flag, value];
        refused_in_the_lab(&placement, &[flag, "it applies only to --role manager"]);
    }
}

#[test]
fn an_agent_is_the_name_of_a_program() {
    for flag in ["--cluster-manager-agent", "--scheduler-agent", "--consumer-agent"] {
        let wrong = ["run", "--from", "conforming.yaml", flag, "manager/v0.0.0 (linux)"];
        refused(&wrong, &[flag, "before the first `/`: write manager"]);
        refused(
            &["run", "--from", "conforming.yaml", flag, "/"],
            &[flag, "such as manager"],
        );
    }
    refused(
        &["run", "--from", "conforming.yaml", "--expect-profiles", "some"],
        &["--expect-profiles"],
    );
}

#[test]
fn the_evidence_keeps_agents_and_the_expected_number_of_profiles() {
    let folder = Folder::new();
    let (record, again) = (folder.flag("evidence.jsonl"), folder.flag("again.jsonl"));
    let flags = [
        "--cluster-manager-agent",
        "hub",
        "--cluster-manager-agent",
        "agent",
    ];
    let count = ["--expect-profiles", "3", "--record", &record];
    call(&[&["run", "--from", "conforming.yaml"][..], &flags, &count].concat());
    let header: Value = header_of(&folder.text("evidence.jsonl"));
    assert_eq!(
        header["claim"]["clusterManager"]["agents"],
        json!(["hub", "agent"])
    );
    assert_eq!(header["claim"]["expectedProfiles"], 3);
    // A replay keeps what was recorded, and its own flags win.
    let other = [
        "replay",
        &record,
        "--cluster-manager-agent",
        "hub",
        "--record",
        &again,
    ];
    call(&other);
    let header: Value = header_of(&folder.text("again.jsonl"));
    assert_eq!(header["claim"]["clusterManager"]["agents"], json!(["hub"]));
    assert_eq!(header["claim"]["expectedProfiles"], 3);
}

/// The header of an evidence file.
fn header_of(evidence: &str) -> Value {
    let first = evidence.lines().next().expect("a first line");
    let line: Value = serde_json::from_str(first).expect("JSON");
    line["header"].clone()
}

#[test]
fn a_configuration_may_serve_runs_of_either_role() {
    let folder = Folder::new();
    let config = folder.flag("conformance.yaml");
    let text = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\nschedulerUser: reader\n";
    fs::write(&config, text).expect("written");
    fs::write(&config, format!("{text}role: [manager, scheduler]\n")).expect("written");
    let shown = expect(0, &["run", "--config", &config, "--print-config"]);
    assert!(shown.contains("\nrole: [manager, scheduler]\n"), "{shown}");
    fs::write(&config, text).expect("written");
    let done = call(&[&LAB[..], &["--config", &config, "--driver", "none", "version/"]].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        done.err.contains("ignoring `schedulerUser` of")
            && done.err.contains("it applies only to --role scheduler"),
        "{}",
        done.err
    );
}

#[test]
fn slips_of_names_are_answered_with_what_there_is() {
    refused(
        &["explain", "identity/"],
        &["`identity` is a suite", "identity/manager-label-present"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--feature", "secrets"],
        &["unknown feature `secrets`", "consumer-secrets"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--role", "manager,consumer"],
        &["a consumer is judged alone", "leave out the other roles"],
    );
    refused(
        &[
            "run",
            "--from",
            "conforming.yaml",
            "--role",
            "manager",
            "--edition",
            "placement-2025-09",
        ],
        &["is for the role scheduler", "add --role scheduler"],
    );
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_bad_usage() {
    let folder = Folder::new();
    let kubeconfig = folder.flag("kubeconfig");
    let run = ["run", "--observe", "0s", "--kubeconfig", &kubeconfig];
    refused(&run, &["failed to read the kubeconfig", "--kubeconfig"]);
    fs::write(&kubeconfig, "{apiVersion: v1, kind: Pod}").expect("written");
    refused(
        &run,
        &["not a valid kubeconfig: its kind is `Pod`", "--kubeconfig"],
    );
    let plain = "{apiVersion: v1, kind: Config, current-context: a, users: [{name: a, user: {}}], \
                 contexts: [{name: a, context: {cluster: a, user: a}}], \
                 clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}";
    fs::write(&kubeconfig, plain).expect("written");
    let done = call(&run);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert!(done.err.contains("try https://"), "{}", done.err);
}

#[test]
fn what_a_file_is_not_judged_by_is_told() {
    let told = expect(0, &["run", "--from", "conforming.yaml", "--scheduler-user", "s"]);
    let note = "note: ignoring --scheduler-user: it applies only to --role scheduler";
    assert!(told.contains(note), "{told}");
    let told = expect(0, &["replay", "conforming.yaml", "--scheduler", "s"]);
    assert!(told.contains("note: ignoring --scheduler: "), "{told}");
    let told = expect(0, &["replay", "conforming.yaml", "--cluster-manager-user", "u"]);
    assert!(!told.contains("ignoring --"), "{told}");
}

#[test]
fn a_narrowed_run_never_calls_itself_conformant() {
    let folder = Folder::new();
    let formats = report::FORMATS.iter().map(|format| format.name());
    let paths = formats
        .chain(["report"])
        .map(|flag| (format!("--{flag}"), folder.flag(flag)));
    let paths: Vec<(String, String)> = paths.collect();
    let flags: Vec<&str> = paths
        .iter()
        .flat_map(|(flag, path)| [flag.as_str(), path])
        .collect();
    let narrowed = [&["run", "--from", "conforming.yaml", "version/"][..], &flags].concat();
    let told = expect(0, &narrowed);
    let (_, decision) = told.split_once("no violation found: ").expect("a decision");
    let (judged, _) = decision.split_once(" MUST rules judged").expect("numbers");
    assert!(
        told.contains("to check the rest, add ") && told.contains("were not selected"),
        "{told}"
    );
    assert_eq!(folder.json("json")["decision"], "no-violation");
    assert!(folder.text("badge").contains(&judged.replace(" of ", "/")));
    // Who wants nothing less than all of it says so.
    let complete = [
        &["run", "--from", "conforming.yaml", "version/"][..],
        &["--complete"],
    ]
    .concat();
    assert_eq!(call(&complete).code, Some(3));
    for (flag, _) in &paths {
        let text = folder.text(&flag[2..]).replace("ClusterProfile conformance", "");
        let claims = text.contains("conformant with")
            || text.contains(">conformant<")
            || text.contains(": conformant");
        assert!(!claims, "{flag}: {text}");
    }
    // A filter that leaves out nothing narrows nothing.
    let whole = ["run", "--from", "conforming.yaml", "/"];
    assert!(!expect(0, &whole).contains("were not selected"));
}

/// What breaks a rule may be in another namespace.
#[test]
fn a_run_of_some_namespaces_never_calls_itself_conformant() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let lab = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference=identity/name-unique",
        "--driver",
        "none",
    ];
    expect(1, &lab);
    let one = [&lab[..], &["-n", "lab-fleet", "--json", &json]].concat();
    let told = expect(0, &one).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("no violation found: ") && told.contains("all namespaces"),
        "{told}"
    );
    assert_eq!(folder.json("report.json")["whole"], false);
    assert_eq!(call(&[&one[..], &["--complete"]].concat()).code, Some(3));
}

#[test]
fn a_run_of_a_consumer_refuses_flags_that_its_testbed_sets() {
    for (flag, value, reason) in [
        ("--namespace", "a", "the driver file names the namespaces"),
        ("--observe", "5m", "the scenarios of a consumer set the duration"),
    ] {
        refused(&["run", "--role", "consumer", flag, value], &[flag, reason]);
    }
}
