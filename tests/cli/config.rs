//! The configuration file, and what a command line and the environment change in it.

use evidence::api::Edition;
use judge::rules::Basis;

use super::*;

impl Folder {
    pub fn config(&self, lines: &str) -> String {
        self.write("conformance.yaml", format!("{HEAD}{lines}\n"))
    }
}

/// Judges a dump with these flags; returns the claim of the report, and what the run prints.
#[track_caller]
fn claim(folder: &Folder, flags: &str, variables: &[(&str, &str)]) -> (Value, String) {
    let report = folder.flag("claim.json");
    let mut run = command(format!(
        "run --from conforming.yaml --json {report} {flags} identity/"
    ));
    let done = done(run.envs(variables.iter().copied()));
    assert_eq!(done.code, Some(0), "{}", done.err);
    (folder.json("claim.json")["claim"].clone(), done.err)
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
    let config =
        folder.config("nodeTolerance: 1\nexpectProfiles: 5\nstrict: true\nclusterManagerUser: [a, b]");
    let variables = [
        ("CLUSTERPROFILE_CONFORMANCE_CONFIG", &*config),
        ("CLUSTERPROFILE_CONFORMANCE_NODE_TOLERANCE", "2"),
        ("CLUSTERPROFILE_CONFORMANCE_CLUSTER_MANAGER_USER", "c"),
        ("CLUSTERPROFILE_CONFORMANCE_EXPECT_PROFILES", "20"),
        ("CLUSTERPROFILE_CONFORMANCE_STRICT", "false"),
        ("CLUSTERPROFILE_CONFORMANCE_NO_PROBE", "true"),
    ];
    let (claimed, printed) = claim(&folder, "--expect-profiles 2", &variables);
    assert_eq!(claimed["nodeTolerance"], 2);
    assert_eq!(claimed["expectedProfiles"], 2);
    assert_eq!(
        claimed["strict"], true,
        "a switch that is off does not replace a key"
    );
    assert_eq!(claimed["clusterManager"]["users"], json!(["c"]));
    let ignored = "ignoring CLUSTERPROFILE_CONFORMANCE_NO_PROBE: it conflicts with --from";
    assert_contains(&printed, &[ignored]);

    for (name, value) in [("OBSERVE", "soon"), ("STRICT", "yes")] {
        let variable = format!("CLUSTERPROFILE_CONFORMANCE_{name}");
        let wrong = done(command("run --hub lab").env(&variable, value));
        assert_eq!(wrong.code, Some(2), "{}", wrong.err);
        assert_contains(&wrong.err, &[&variable]);
    }
}

#[test]
fn flag_replaces_the_keys_that_it_excludes() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference\nobserve: 7m\nprobe: true\nfeature: [consumer-secrets]\nstrict: true",
    );
    let flags = format!("--config {config} --no-feature consumer-secrets");
    let (claimed, printed) = claim(&folder, &flags, &[]);
    let ignored = ["hub", "manager", "observe", "probe", "feature"].map(|key| format!("ignoring `{key}` of"));
    assert_contains(&printed, &ignored.each_ref().map(String::as_str));
    assert_contains(&printed, &["it conflicts with --from"]);
    assert_eq!(claimed["noFeatures"], json!(["consumer-secrets"]));
    assert_eq!(claimed["strict"], true);
}

#[test]
fn a_stronger_setting_does_not_give_way() {
    let folder = Folder::new();
    let from = ("CLUSTERPROFILE_CONFORMANCE_FROM", "conforming.yaml");
    let [by_flag, by_variable] = ["flag.jsonl", "variable.jsonl"].map(|name| folder.flag(name));
    let record = ("CLUSTERPROFILE_CONFORMANCE_RECORD", &*by_variable);
    let config = folder.config(&format!("from: {ROOT}/tests/cli/conforming.yaml"));
    for (flags, variables, recorded) in [
        (format!("--record {by_flag}"), &[from][..], "flag.jsonl"),
        (String::new(), &[from, record], "variable.jsonl"),
        ("--from conforming.yaml".to_owned(), &[record], "variable.jsonl"),
        (format!("--config {config} --record {by_flag}"), &[], "flag.jsonl"),
    ] {
        let mut run = command(format!("run {flags} identity/"));
        let done = done(run.envs(variables.iter().copied()));
        assert_eq!((done.code, &*done.err), (Some(0), ""), "{flags}");
        fs::remove_file(folder.path(recorded)).expect("recorded");
    }
    let config = folder.config("hub: lab\nmanager: reference");
    let run = format!("run --config {config} --driver d.yaml");
    refused(
        run,
        &["commands cannot drive the reference manager: use --driver reference"],
    );
}

#[test]
fn only_settings_of_one_source_contradict_each_other() {
    let folder = Folder::new();
    // A switch that is off and an empty list are as without them.
    let config = folder.config("from: x\nprobe: false\nmembers: []\nnoProbe: false");
    let (_, printed) = claim(&folder, &format!("--config {config}"), &[]);
    assert_eq!(printed, "");
    let [probe, no_probe] = [
        "CLUSTERPROFILE_CONFORMANCE_PROBE",
        "CLUSTERPROFILE_CONFORMANCE_NO_PROBE",
    ];
    let run = |flags: &str| {
        let mut run = command(format!("run --kubeconfig unreachable.kubeconfig {flags}"));
        done(run.envs([(probe, "true"), (no_probe, "true")]))
    };
    let both = run("");
    assert_eq!(both.code, Some(2), "{}", both.err);
    assert_contains(&both.err, &[&format!("{no_probe} cannot be used with {probe}")]);
    let flag = run("--probe");
    assert_eq!(flag.code, Some(4), "{}", flag.err);
    assert_contains(
        &flag.err,
        &[&format!("ignoring {no_probe}: it conflicts with --probe")],
    );
}

/// A driver file cannot drive the reference manager. `none` is valid on each hub.
#[test]
fn reference_manager_replaces_files_and_keeps_none() {
    let folder = Folder::new();
    let config = folder.config("driver: driver.yaml\nmembers: [members.yaml]\nauditLog: [audit.log]");
    let run = format!("run --config {config} --hub lab --manager reference");
    let ignored = ["driver", "members", "auditLog"].map(|key| format!("ignoring `{key}` of"));
    let printed = expect(0, format!("{run} identity/"));
    assert_contains(&printed, &ignored.each_ref().map(String::as_str));
    folder.config("driver: none\nmembers: [none]\nauditLog: [none]");
    let run = format!("{run} -v lifecycle/join-creates-profile");
    expect_output(3, run, &["no driver was given"]);
}

#[test]
fn replay_does_not_record_into_the_file_of_the_run() {
    let folder = Folder::new();
    let config = folder.config("record: evidence.jsonl\njson: report.json\nfilters: identity/");
    expect(0, format!("run --config {config} --from conforming.yaml"));
    let path = folder.flag("evidence.jsonl");
    let evidence = folder.text("evidence.jsonl");
    fs::remove_file(folder.path("report.json")).expect("removed");
    let printed = expect(0, format!("replay {path} --config {config}"));
    assert_contains(&printed, &["ignoring `record` of"]);
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
    assert_eq!(folder.text("evidence.jsonl"), evidence);
    let printed = expect(0, format!("run --from {path} --config {config}"));
    assert_contains(&printed, &["ignoring `record` of"]);
    let replay = format!("replay {path} --record {path}");
    refused(replay, &["is both an input and an output"]);
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
