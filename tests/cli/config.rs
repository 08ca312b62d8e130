//! The configuration file, and what becomes of it under a command line.

use evidence::api::Edition;
use judge::rules::Basis;

use super::*;

impl Folder {
    /// A configuration with these lines.
    pub fn config(&self, lines: &str) -> String {
        self.write("conformance.yaml", format!("{HEAD}{lines}\n"))
    }
}

/// The output of a command line with `--print-config`.
fn configuration(line: &str) -> String {
    let done = call(line.replacen(' ', " --print-config ", 1));
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out
}

#[test]
fn a_file_stands_for_flags_and_flags_win() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference=identity/manager-label-matches\nobserve: 7m\nfilters: [identity/]\n\
         json: report.json\nimplementation: {organization: Example, project: hangar, contact: ['@h']}",
    );
    expect(1, format!("run --config {config}"));
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "not-conformant");
    assert_eq!(report["claim"]["implementation"]["organization"], "Example");
    let judged_in = |report: &Value, suite: &str| {
        let mut verdicts = report["verdicts"].as_array().expect("verdicts").iter();
        verdicts
            .all(|verdict| verdict["reason"] == "deselected" || verdict["rule"].to_string().contains(suite))
    };
    assert!(judged_in(&report, "identity/"));

    expect(
        0,
        format!("run --config {config} --manager reference conditions/"),
    );
    assert!(judged_in(&folder.json("report.json"), "conditions/"));
}

#[test]
fn a_variable_wins_over_the_file_and_gives_way_to_a_flag() {
    let folder = Folder::new();
    let config = folder.config("hub: lab\nmanager: reference\nobserve: 7m\nsettle: 20s\nstrict: true");
    let shown = |flags: &str| {
        let mut command = command(format!("run --print-config {flags}"));
        command
            .env("CLUSTERPROFILE_CONFORMANCE_CONFIG", &config)
            .env("CLUSTERPROFILE_CONFORMANCE_OBSERVE", "8m")
            .env("CLUSTERPROFILE_CONFORMANCE_NO_PROBE", "true");
        let done = done(&mut command);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    let text = shown("");
    for line in ["observe: 8m", "settle: 20s", "noProbe: true", "strict: true"] {
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
    }
    assert!(shown("--observe 9m").contains("\nobserve: 9m\n"));
    let probing = shown("--probe");
    assert!(
        probing.contains("\nprobe: true\n") && !probing.contains("noProbe"),
        "{probing}"
    );
    let wrong = done(command("run --hub lab").env("CLUSTERPROFILE_CONFORMANCE_OBSERVE", "soon"));
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    assert!(wrong.err.contains("--observe"), "{}", wrong.err);
}

#[test]
fn what_a_flag_excludes_gives_way_to_it() {
    let folder = Folder::new();
    let config = folder.config(
        "hub: lab\nmanager: reference\nobserve: 7m\nprobe: true\nfeature: [consumer-secrets]\nstrict: true",
    );
    let done = call(format!("run --config {config} --from conforming.yaml identity/"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    for key in ["hub", "manager", "observe", "probe"] {
        assert_contains(&done.err, &[&format!("ignoring `{key}` of")]);
    }
    assert_contains(&done.err, &["it conflicts with --from"]);
    let text = configuration(&format!(
        "run --config {config} --context x --no-probe --no-feature consumer-secrets"
    ));
    for gone in ["hub:", "manager:", "probe: true\n", "\nfeature:"] {
        let left = text.replace("noProbe: true", "");
        assert!(!left.contains(gone), "{gone} is left in {text}");
    }
    assert_contains(
        &text,
        &[
            "context: x\n",
            "observe: 7m\n",
            "noProbe: true\n",
            "strict: true\n",
        ],
    );
}

/// A driver file cannot drive the reference manager. That nothing is to be driven holds on each hub.
#[test]
fn files_give_way_to_a_manager_and_words_do_not() {
    let folder = Folder::new();
    let lab = |config: &str| configuration(&format!("run --config {config} --hub lab --manager reference"));
    let files = "driver: driver.yaml\nmembers: [members.yaml]\nauditLog: [audit.log]";
    let text = lab(&folder.config(files));
    for gone in ["driver:", "members:", "auditLog:"] {
        assert!(!text.contains(gone), "{gone} is left in {text}");
    }
    let config = folder.config("driver: none\nmembers: [none]\nauditLog: [none]");
    let text = lab(&config);
    assert_contains(&text, &["driver: none", "members:", "auditLog:"]);
    let run = format!("run --config {config} --hub lab --manager reference");
    let printed = expect(3, format!("{run} -v lifecycle/join-creates-profile"));
    assert!(printed.contains("no driver was given"), "{printed}");
}

#[test]
fn a_replay_does_not_record_into_the_file_of_the_run() {
    let folder = Folder::new();
    let config = folder.config("record: evidence.jsonl\njson: report.json\nfilters: identity/");
    expect(0, format!("run --config {config} --from conforming.yaml"));
    let evidence = folder.text("evidence.jsonl");
    fs::remove_file(folder.path("report.json")).expect("removed");
    let done = call(format!(
        "replay {} --config {config}",
        folder.flag("evidence.jsonl")
    ));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
    assert_eq!(folder.text("evidence.jsonl"), evidence);
    let path = folder.flag("evidence.jsonl");
    expect(0, format!("run --from {path} --config {config}"));
    refused(
        format!("replay {path} --record {path}"),
        &["is both an input and an output"],
    );
}

#[test]
fn what_is_printed_can_be_read_again_from_anywhere() {
    let folder = Folder::new();
    let config = folder.config(
        "kubeconfig: ../hub.kubeconfig\nmembers: [from-secrets, members.yaml]\nallowMutations: true\nnodeTolerance: 2\n\
         expectProfiles: 3\nclusterManagerAgent: [manager]\n\
         skip: ['--odd \"text\"', 'no']\nprofileApiVersion: v1alpha1\nedition: 2026-07\ndriver: driver.yaml\n\
         implementation: {project: 'a: b', url: 'https://x.example/#y', version: '1.30'}",
    );
    let first = configuration(&format!(
        "run --config {config} --junit here.xml --driver reference -- -x"
    ));
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
    ];
    assert_contains(&first, &kept);
    // Paths of the file are as seen from it, those of flags from the current folder.
    assert!(first.contains(&folder.flag("members.yaml")), "{first}");
    assert!(first.contains("tests/cli/here.xml"), "{first}");
    let elsewhere = Folder::new();
    let again = elsewhere.write("again.yaml", &first);
    assert_eq!(configuration(&format!("run --config {again}")), first);
    // A run and a replay share a file: what is for a run alone is none of the replay's business.
    let replay = configuration(&format!("replay conforming.yaml --config {config}"));
    assert!(replay.contains("nodeTolerance: 2\n"), "{replay}");
    assert!(
        !replay.contains("driver") && !replay.contains("evidence"),
        "{replay}"
    );
    // Without a file, the flags alone.
    assert!(configuration("run --observe 5m").starts_with(&format!("{HEAD}observe: 5m\n")));
}

#[test]
fn errors_of_the_configuration_name_the_line() {
    let folder = Folder::new();
    for (lines, message) in [
        (
            "obsrve: 5m",
            "line 3: unknown key `obsrve`: did you mean `observe`?",
        ),
        (
            "strict: true\nobserve: '5'",
            "line 4: `observe`: invalid value '5'",
        ),
        ("hub: labb", "possible values: lab, envtest, k3s"),
        ("edition: standart", "did you mean `standard`?"),
        (
            "probe: true\nnoProbe: true",
            "line 4: `noProbe` cannot be used with `probe`",
        ),
        ("manager: \"a\\nb\"", "line 3: `manager`"),
        ("color: always", "line 3: unknown key `color`"),
    ] {
        let config = folder.config(lines);
        refused(
            format!("run --config {config}"),
            &["conformance.yaml cannot be used: ", message],
        );
    }
    let config = folder.config("json: conformance.yaml");
    refused(
        format!("run --config {config} --from conforming.yaml"),
        &["is both an input and an output"],
    );
    // None is read that was not asked for.
    let mut run = command("run --hub lab --manager reference identity/");
    let done = run
        .current_dir(folder.path(""))
        .output()
        .expect("the command runs");
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn the_example_can_be_used() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let fault = "reference=identity/manager-label-matches";
    let config = format!("{ROOT}/fixtures/configuration/conformance.yaml");
    let printed = expect(
        0,
        format!("run --hub lab --manager {fault} --json {json} --config {config}"),
    );
    assert!(printed.contains("edition standard, 1 rule waived"), "{printed}");
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
    let printed = expect(1, format!("{run} {explicit}"));
    assert!(printed.contains("were not selected"), "{printed}");
    let report = folder.json("r.json");
    let failed = rules_with(&report, "fail");
    assert!(failed.iter().all(|id| is_explicit(id)), "{failed:?}");
    for of_rule in report["verdicts"].as_array().expect("verdicts") {
        let id = of_rule["rule"].as_str().expect("an id");
        let is_deselected = of_rule["reason"] == "deselected: its basis is derived";
        assert_eq!(is_deselected, !is_explicit(id), "{of_rule}");
    }

    let submitted: Value = serde_saphyr::from_str(&folder.text("r.yaml")).expect("YAML");
    assert_eq!(submitted["scope"]["selection"]["basis"], "explicit");
    let verify = format!("report verify {yaml} {record}");
    assert!(expect(0, &verify).contains("the evidence reproduces this report"));
    let without = folder.text("r.yaml").replacen("    basis: explicit\n", "", 1);
    fs::write(folder.path("r.yaml"), without).expect("written");
    assert!(expect(1, &verify).contains("does not reproduce"));

    expect(1, format!("replay {record} {explicit}"));
    assert_eq!(rules_with(&folder.json("r.json"), "fail"), failed);
}

#[test]
fn the_configuration_has_the_basis_too() {
    let folder = Folder::new();
    let (config, json) = (folder.config("basis: explicit"), folder.flag("r.json"));
    expect(
        1,
        format!("run --from violating.yaml --config {config} --json {json}"),
    );
    let report = folder.json("r.json");
    assert!(rules_with(&report, "fail").iter().all(|id| is_explicit(id)));
}
