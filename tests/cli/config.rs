//! The configuration file, and what a command line and the environment change in it.

use evidence::api::Edition;
use judge::rules::Basis;

use super::*;

impl Folder {
    pub fn config(&self, lines: &str) -> String {
        self.write("conformance.yaml", format!("{HEAD}{lines}\n"))
    }
}

#[track_caller]
fn configuration(line: &str) -> String {
    let done = call(line.replacen(' ', " --print-config ", 1));
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out
}

#[track_caller]
fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} is in: {text}");
    }
}

#[test]
fn flags_replace_keys_of_the_file() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference=identity/manager-label-matches\nobserve: 7m\ndriver: none\nfilters: [identity/]\n\
         json: report.json\nimplementation: {organization: Example, project: hangar, contact: ['@h']}",
    );
    let judged_in = |report: &Value, suite: &str| {
        verdicts(report)
            .all(|verdict| verdict["reason"] == "deselected" || verdict["rule"].to_string().contains(suite))
    };
    expect(1, format!("run --config {config}"));
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "not-conformant");
    assert_eq!(report["claim"]["implementation"]["organization"], "Example");
    assert!(judged_in(&report, "identity/"));
    let run = format!("run --config {config} --manager reference conditions/");
    expect(0, run);
    assert!(judged_in(&folder.json("report.json"), "conditions/"));
}

#[test]
fn variable_overrides_the_file_and_a_flag_overrides_the_variable() {
    let folder = Folder::new();
    let config = folder.config("hub: lab\nmanager: reference\nobserve: 7m\nsettle: 20s\nstrict: true");
    let all = [
        "\nobserve: 8m\n",
        "\nsettle: 20s\n",
        "\nnoProbe: true\n",
        "\nstrict: true\n",
    ];
    for (flags, shown) in [
        ("", &all[..]),
        ("--observe 9m", &["\nobserve: 9m\n", "\nnoProbe: true\n"]),
        ("--probe", &["\nprobe: true\n"]),
    ] {
        let mut command = command(format!("run --print-config {flags}"));
        command
            .env("CLUSTERPROFILE_CONFORMANCE_CONFIG", &config)
            .env("CLUSTERPROFILE_CONFORMANCE_OBSERVE", "8m")
            .env("CLUSTERPROFILE_CONFORMANCE_NO_PROBE", "true");
        let done = done(&mut command);
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert_contains(&done.out, shown);
        assert_eq!(done.out.contains("noProbe"), flags != "--probe", "{}", done.out);
    }
    let wrong = done(command("run --hub lab").env("CLUSTERPROFILE_CONFORMANCE_OBSERVE", "soon"));
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    assert_contains(&wrong.err, &["--observe"]);
}

#[test]
fn flag_replaces_the_keys_that_it_excludes() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference\nobserve: 7m\nprobe: true\nfeature: [consumer-secrets]\nstrict: true",
    );
    let ignored = ["hub", "manager", "observe", "probe"].map(|key| format!("ignoring `{key}` of"));
    let run = format!("run --config {config} --from conforming.yaml identity/");
    let printed = expect(0, run);
    assert_contains(&printed, &ignored.each_ref().map(String::as_str));
    assert_contains(&printed, &["it conflicts with --from"]);

    let flags = "--context x --no-probe --no-feature consumer-secrets";
    let text = configuration(&format!("run --config {config} {flags}"));
    assert_lacks(&text, &["hub:", "manager:", "\nprobe:", "\nfeature:"]);
    let kept = ["context: x\n", "observe: 7m\n", "noProbe: true", "strict: true"];
    assert_contains(&text, &kept);
}

/// A driver file cannot drive the reference manager. `none` is valid on each hub.
#[test]
fn reference_manager_replaces_files_and_keeps_none() {
    let folder = Folder::new();
    let lab = |config: &str| configuration(&format!("run --config {config} --hub lab --manager reference"));
    let files = "driver: driver.yaml\nmembers: [members.yaml]\nauditLog: [audit.log]";
    assert_lacks(&lab(&folder.config(files)), &["driver:", "members:", "auditLog:"]);
    let config = folder.config("driver: none\nmembers: [none]\nauditLog: [none]");
    assert_contains(&lab(&config), &["driver: none", "members:", "auditLog:"]);
    let run = format!("run --config {config} --hub lab --manager reference");
    let run = format!("{run} -v lifecycle/join-creates-profile");
    expect_output(3, run, &["no driver was given"]);
}

#[test]
fn replay_does_not_record_into_the_file_of_the_run() {
    let folder = Folder::new();
    let config = folder.config("record: evidence.jsonl\njson: report.json\nfilters: identity/");
    expect(0, format!("run --config {config} --from conforming.yaml"));
    let evidence = folder.text("evidence.jsonl");
    let path = folder.flag("evidence.jsonl");
    fs::remove_file(folder.path("report.json")).expect("removed");
    expect(0, format!("replay {path} --config {config}"));
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
    assert_eq!(folder.text("evidence.jsonl"), evidence);
    expect(0, format!("run --from {path} --config {config}"));
    let replay = format!("replay {path} --record {path}");
    refused(replay, &["is both an input and an output"]);
}

#[test]
fn printed_configuration_can_be_read_from_any_folder() {
    let folder = Folder::new();
    let config = folder.config(
        "kubeconfig: ../hub.kubeconfig\nmembers: [from-secrets, members.yaml]\nallowMutations: true\nnodeTolerance: 2\n\
         expectProfiles: 3\nclusterManagerAgent: [manager]\n\
         skip: ['--odd \"text\"', 'no']\nprofileApiVersion: v1alpha1\nedition: 2026-07\ndriver: driver.yaml\n\
         implementation: {project: 'a: b', url: 'https://x.example/#y', version: '1.30'}",
    );
    let flags = "--junit here.xml --driver reference -- -x";
    let first = configuration(&format!("run --config {config} {flags}"));
    let kept = [
        "nodeTolerance: 2\n",
        "expectProfiles: 3\n",
        "clusterManagerAgent: [manager]\n",
        "allowMutations: true\n",
        "driver: reference\n",
        "members: [from-secrets, ",
        "filters: [\"-x\"]\n",
        "profileApiVersion: v1alpha1\n",
        "# format: pretty\n",
        // Paths in the file are relative to it, those of flags to the current folder.
        &folder.flag("members.yaml"),
        "tests/cli/here.xml",
    ];
    assert_contains(&first, &kept);
    let other_folder = Folder::new();
    let again = other_folder.write("again.yaml", &first);
    assert_eq!(configuration(&format!("run --config {again}")), first);
    // A run and a replay share a file; a replay skips keys for a run.
    let replay = configuration(&format!("replay conforming.yaml --config {config}"));
    assert_contains(&replay, &["nodeTolerance: 2\n"]);
    assert_lacks(&replay, &["driver", "evidence"]);
    // Without a file, the flags alone.
    assert!(configuration("run --observe 5m").starts_with(&format!("{HEAD}observe: 5m\n")));
}

#[test]
fn errors_of_the_configuration_name_the_line() {
    let folder = Folder::new();
    let run = format!("run --config {}", folder.config("strict: true\nobserve: '5'"));
    let message = "line 4: `observe`: invalid value '5'";
    refused(run, &["conformance.yaml cannot be used: ", message]);
    let config = folder.config("json: conformance.yaml");
    let run = format!("run --config {config} --from conforming.yaml");
    refused(run, &["is both an input and an output"]);
    // A file in the current folder is not read by itself.
    let mut run = command(format!("run --from {ROOT}/tests/cli/conforming.yaml identity/"));
    assert_eq!(done(run.current_dir(folder.path(""))).code, Some(0));
}

#[test]
fn the_example_can_be_used() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let flags = format!("--json {json} --config {ROOT}/fixtures/configuration/conformance.yaml");
    let run = format!("run --hub lab --manager reference=identity/manager-label-matches {flags}");
    expect_output(0, run, &["edition standard, 1 rule waived"]);
    let report = folder.json("report.json");
    assert_eq!(report["claim"]["implementation"]["project"], "fleet-hangar");
    assert_eq!(report["waivers"][0]["expired"], false);
}

fn is_explicit(id: &str) -> bool {
    let rule = rules::find(id).expect("a known rule");
    let applies = rule.facts.in_edition(Edition::Standard);
    applies.expect("a rule of the edition").basis == Basis::Explicit
}

#[test]
fn only_explicit_rules_are_judged_and_the_report_says_so() {
    let folder = Folder::new();
    let [json, yaml, record] = ["r.json", "r.yaml", "e.jsonl"].map(|name| folder.flag(name));
    let explicit = format!("--basis explicit --json {json}");
    let run = format!("run --from violating.yaml --report {yaml} --record {record}");
    expect_output(1, format!("{run} {explicit}"), &["were not selected"]);
    let report = folder.json("r.json");
    let failed = rules_with(&report, "fail");
    assert!(failed.iter().all(|id| is_explicit(id)), "{failed:?}");
    for of_rule in verdicts(&report) {
        let id = of_rule["rule"].as_str().expect("an id");
        let is_deselected = of_rule["reason"] == "deselected: its basis is derived";
        assert_eq!(is_deselected, !is_explicit(id), "{of_rule}");
    }

    assert_eq!(folder.yaml("r.yaml")["scope"]["selection"]["basis"], "explicit");
    let verify = format!("report verify {yaml} {record}");
    expect_output(0, &verify, &["the evidence reproduces this report"]);
    folder.edit("r.yaml", "    basis: explicit\n", "");
    expect_output(1, &verify, &["does not reproduce"]);

    // From evidence, and by a configuration.
    let config = folder.config("basis: explicit");
    for run in [
        format!("replay {record} {explicit}"),
        format!("run --from violating.yaml --config {config} --json {json}"),
    ] {
        expect(1, run);
        assert_eq!(rules_with(&folder.json("r.json"), "fail"), failed);
    }
}
