//! The command line: what it prints, what it leaves behind, and the codes that it exits with.

#[path = "cli/basis.rs"]
mod basis;
#[path = "cli/board.rs"]
mod board;
#[path = "cli/bundle.rs"]
mod bundle;
#[path = "cli/config.rs"]
mod config;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/everyday.rs"]
mod everyday;
#[path = "cli/fail_fast.rs"]
mod fail_fast;
#[cfg(unix)]
#[path = "cli/hub.rs"]
mod hub;
#[path = "cli/in_cluster.rs"]
mod in_cluster;
#[path = "cli/input.rs"]
mod input;
#[path = "cli/installed.rs"]
mod installed;
#[path = "cli/managers.rs"]
mod managers;
#[path = "cli/monitor.rs"]
mod monitor;
#[path = "cli/network.rs"]
mod network;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/policies.rs"]
mod policies;
#[path = "cli/repeat.rs"]
mod repeat;
#[path = "cli/reports.rs"]
mod reports;
#[path = "cli/schemas.rs"]
mod schemas;
#[path = "cli/scope.rs"]
mod scope;
#[path = "cli/settling.rs"]
mod settling;
#[path = "cli/shards.rs"]
mod shards;
#[cfg(unix)]
#[path = "cli/signals.rs"]
mod signals;
#[path = "cli/signed.rs"]
mod signed;
#[cfg(unix)]
#[path = "cli/sonobuoy.rs"]
mod sonobuoy;
#[path = "cli/waivers.rs"]
mod waivers;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use evidence::{Kind, api::Edition};
use flate2::{Compression, write::GzEncoder};
use judge::rules::{self, Basis, Rule};
use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

/// What one call of the command did.
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

/// The command, in the folder of the dumps that these tests use, with nothing of the user's about it.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"));
    command
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("COLUMNS")
        .env_remove("JOB_COMPLETION_INDEX")
        .env("HOME", "/nonexistent");
    command
}

fn call(arguments: &[&str]) -> Done {
    done(&mut command(arguments))
}

/// Calls it on a terminal of 80 columns.
fn call_in_80_columns(arguments: &[&str]) -> Done {
    done(command(arguments).env("COLUMNS", "80"))
}

fn done(command: &mut Command) -> Done {
    let done = command.stdin(Stdio::null()).output().expect("the command runs");
    Done {
        code: done.status.code(),
        out: String::from_utf8(done.stdout).expect("UTF-8"),
        err: String::from_utf8(done.stderr).expect("UTF-8"),
    }
}

/// Calls it, expects that code, and gives back what it printed to both streams.
fn expect(code: i32, arguments: &[&str]) -> String {
    let done = call(arguments);
    assert_eq!(done.code, Some(code), "{arguments:?}\n{}{}", done.out, done.err);
    done.out + &done.err
}

/// Expects bad usage, told in one message that has all of these.
fn refused(arguments: &[&str], told: &[&str]) {
    let done = call(arguments);
    assert_eq!(done.code, Some(2), "{arguments:?}\n{}{}", done.out, done.err);
    assert!(done.err.starts_with("error: "), "{}", done.err);
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    for told in told {
        assert!(done.err.contains(told), "{told:?} is not in: {}", done.err);
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path in it, for a flag.
    fn flag(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }

    /// A kubeconfig that leads to that port of this machine.
    fn kubeconfig(&self, port: u16) -> String {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts: [{{name: here, context: {{cluster: c, user: u}}}}]\n\
             clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        );
        fs::write(self.path("kubeconfig"), text).expect("written");
        self.flag("kubeconfig")
    }
}

#[test]
fn names_that_are_none_are_errors_with_the_nearest() {
    refused(&["run", "--nonsense"], &["--nonsense"]);
    refused(
        &["run", "--driver", "x.yaml"],
        &["failed to read the driver file x.yaml"],
    );
    refused(&["run", "--edition", "standart"], &["did you mean `standard`?"]);
    refused(
        &["run", "--feature", "consumer-secret"],
        &["did you mean `consumer-secrets`?"],
    );
    refused(&["run", "--observe", "5"], &["30s, 5m or 1h30m"]);
    refused(
        &[
            "run",
            "--hub",
            "lab",
            "--manager",
            "reference=identity/manager-label-presnt",
        ],
        &["did you mean `identity/manager-label-present`?"],
    );
    for near in ["identity/manager-label-presnt", "manager-label-presnt"] {
        let nearest = &["did you mean `identity/manager-label-present`?"];
        refused(&["explain", near], nearest);
        refused(&["run", "--from", "conforming.yaml", "--exact", near], nearest);
        refused(&["run", "--from", "conforming.yaml", "--skip", near], nearest);
        refused(&["run", "--from", "conforming.yaml", near], nearest);
    }
    // What is a substring of many is no whole id.
    refused(
        &["run", "--from", "conforming.yaml", "--exact", "identity"],
        &["`identity` is a suite", "identity/manager-label-present"],
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    refused(
        &["run", "--from", "conforming.yaml", "--hub", "lab"],
        &["--from", "--hub"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--observe", "5m"],
        &["--from", "--observe"],
    );
    refused(
        &["run", "--manager", "reference"],
        &["add --hub lab, --hub envtest or --hub k3s"],
    );
    refused(&["run", "--hub", "lab"], &["--manager reference"]);
    refused(
        &["run", "--hub", "lab", "--manager", "reference", "--context", "x"],
        &["--context"],
    );
    refused(&["run", "--probe", "--no-probe"], &["--no-probe"]);
    refused(&["run", "--allow-mutations"], &["add --driver FILE"]);
    refused(
        &["run", "--driver", "reference"],
        &["add --hub lab --manager reference"],
    );
    refused(
        &["run", "--driver", "x.yaml", "--observe", "0s"],
        &["--observe 0s cannot see"],
    );
    let lab = ["run", "--hub", "lab", "--manager", "reference"];
    refused(
        &[&lab[..], &["--driver", "x.yaml"]].concat(),
        &["use --driver reference"],
    );
    refused(
        &["run", "--hub", "lab", "--manager", "reference", "--clean"],
        &["--clean"],
    );
    refused(
        &["run", "--clean", "--allow-mutations"],
        &["--clean", "--allow-mutations"],
    );
    let both = [
        "run",
        "--from",
        "conforming.yaml",
        "--feature",
        "consumer-secrets",
        "--no-feature",
        "consumer-secrets",
    ];
    refused(&both, &["contradicts"]);
    refused(
        &[
            "run",
            "--from",
            "conforming.yaml",
            "identity/",
            "--skip",
            "identity/",
        ],
        &["no rule is left"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "member-id-non-empty"],
        &[
            "edition standard has no rule like `member-id-non-empty`",
            "2026-09",
        ],
    );
}

#[test]
fn a_narrowed_run_never_calls_itself_conformant() {
    let folder = Folder::new();
    let formats = report::FORMATS.iter().map(|format| format.name);
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
        told.contains("; the rest needs ") && told.contains("all rules selected"),
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
    assert!(!expect(0, &whole).contains("all rules selected"));
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
fn a_fault_that_another_one_hides_is_told() {
    let together = |faults: &str| {
        let manager = format!("reference={faults}");
        call(&[
            "run",
            "--hub",
            "lab",
            "--manager",
            &manager,
            "identity/",
            "version/",
        ])
        .err
    };
    let hidden = together("version/well-formed,version/reported");
    assert!(!hidden.contains("does not show"), "{hidden}");
    let hidden = together("identity/manager-label-matches,identity/manager-label-present");
    let told = "fault identity/manager-label-matches does not show";
    assert!(hidden.contains(told), "{hidden}");
}

/// Not each fault fails a run, though it has the name of a rule.
#[test]
fn a_fault_that_only_warns_is_told() {
    let told = |code: i32, fault: &str, more: &[&str]| {
        let manager = format!("reference={fault}");
        let run = [
            "run",
            "--hub",
            "lab",
            "--manager",
            &manager,
            "--driver",
            "none",
            "--exact",
            fault,
        ];
        expect(code, &[&run[..], more].concat())
    };
    let note = |fault: &str| format!("note: fault {fault} only warns: ");
    let hint = "clustersets/namespace-labelled";
    let text = told(0, hint, &[]);
    assert!(
        text.contains(&(note(hint) + "it gives a hint, which proves nothing")),
        "{text}"
    );
    let should = "version/matches-member";
    let text = told(0, should, &[]);
    let why = "its rule is a SHOULD, which fails with --strict only";
    assert!(text.contains(&(note(should) + why)), "{text}");
    assert!(!told(1, should, &["--strict"]).contains("only warns"));
    assert!(!told(1, "identity/manager-label-matches", &[]).contains("only warns"));
}

#[test]
fn an_empty_list_is_an_inventory_without_profiles() {
    let folder = Folder::new();
    let (dump, junit) = (folder.flag("empty.yaml"), folder.flag("report.xml"));
    fs::write(
        &dump,
        "apiVersion: v1\nkind: List\nitems: []\nmetadata: {resourceVersion: ''}\n",
    )
    .expect("written");
    let told = expect(3, &["run", "--from", &dump, "--junit", &junit]);
    assert!(told.contains("there is no ClusterProfile to examine"), "{told}");
    assert!(folder.text("report.xml").contains("<testsuite"));
}

#[test]
fn what_is_claimed_is_asked_for_in_a_dump_too() {
    let run = ["run", "--from", "conforming.yaml"];
    expect(0, &run);
    for claim in [["--feature", "consumer-secrets"], ["--consumer", "argocd"]] {
        let told = expect(3, &[&run[..], &claim].concat()).replace("\n  ", " ");
        assert!(told.contains("claimed, but the dump holds no Secrets"), "{told}");
    }
}

#[test]
fn a_clusterset_is_declared_by_its_namespace_and_recorded() {
    let run = [
        "run",
        "--from",
        "conforming.yaml",
        "clustersets/namespace-labelled",
    ];
    let declared = |sets: &[&'static str]| [&run[..], sets].concat();
    for (given, told) in [
        ("fleet", "such as fleet=production"),
        ("fleet=", "such as fleet=production"),
        ("=production", "such as fleet=production"),
        ("Fleet=production", "`Fleet` is not a valid namespace name"),
        ("fleet=in production", "not a valid label value"),
    ] {
        refused(&declared(&["--clusterset", given]), &["--clusterset", told]);
    }
    let both = ["--clusterset", "fleet=one", "--clusterset", "fleet=two"];
    refused(
        &declared(&both),
        &["fleet=two contradicts --clusterset fleet=one"],
    );

    // Nothing else tells of a ClusterSet there.
    expect(3, &declared(&[]));
    let folder = Folder::new();
    let (record, json) = (folder.flag("evidence.jsonl"), folder.flag("report.json"));
    let fleet = ["--clusterset", "fleet=production"];
    expect(1, &[&run[..], &fleet, &["--record", &record]].concat());
    expect(1, &["replay", &record, run[3], "--json", &json]);
    let report = folder.json("report.json");
    let mut verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let verdict = verdicts.find(|verdict| verdict["rule"] == run[3]).expect("one");
    let finding = &verdict["findings"][0];
    assert_eq!(finding["object"]["name"], "fleet");
    assert_eq!(finding["expected"], "production");
    // What is said later replaces what was recorded.
    let unseen = ["--clusterset", "flet=production"];
    let told = expect(3, &[&["replay", &record, run[3]][..], &unseen].concat());
    assert!(
        told.contains("namespace flet represents a ClusterSet, as declared, but was not seen"),
        "{told}"
    );
}

#[test]
fn a_file_that_cannot_be_used_is_told_and_reported() {
    let folder = Folder::new();
    let junit = folder.flag("junit.xml");
    refused(
        &["run", "--from", "missing.yaml", "--junit", &junit],
        &["missing.yaml", "No such file"],
    );
    assert!(
        folder.text("junit.xml").contains("No such file"),
        "{}",
        folder.text("junit.xml")
    );
    fs::write(folder.path("empty.yaml"), "").expect("written");
    refused(&["run", "--from", &folder.flag("empty.yaml")], &["empty.yaml"]);
    fs::write(folder.path("broken.yaml"), "a: [").expect("written");
    refused(&["run", "--from", &folder.flag("broken.yaml")], &["broken.yaml"]);
    refused(&["replay", "missing.jsonl"], &["missing.jsonl"]);
}

#[test]
fn outputs_are_checked_before_anything_else() {
    let folder = Folder::new();
    let nowhere = folder.flag("no/such/report.xml");
    refused(
        &["run", "--from", "conforming.yaml", "--junit", &nowhere],
        &["--junit", "create the folder"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--json", &folder.flag("")],
        &["--json", "it is a folder"],
    );
    let twice = folder.flag("report");
    refused(
        &[
            "run",
            "--from",
            "conforming.yaml",
            "--json",
            &twice,
            "--junit",
            &twice,
        ],
        &["--json and --junit"],
    );
    let input = folder.flag("dump.yaml");
    fs::copy("tests/cli/conforming.yaml", &input).expect("copied");
    refused(
        &["run", "--from", &input, "--json", &input],
        &["is both an input and an output"],
    );
    fs::create_dir(folder.path("folder")).expect("created");
    let detour = folder.flag("folder/../report");
    let detour = ["run", "--from", &input, "--json", &twice, "--record", &detour];
    refused(&detour, &["--record and --json"]);
    fs::write(folder.path("audit.log"), "{}").expect("written");
    let log = folder.flag("audit.log");
    let log = ["run", "--from", &input, "--audit-log", &log, "--record", &log];
    refused(&log, &["is both an input and an output"]);
    assert!(!folder.path("report").exists());
}

#[test]
fn an_audit_log_is_read_with_what_was_rotated_out_of_it() {
    let folder = Folder::new();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded");
    let log = fs::read_to_string(recorded.join("audit.log")).expect("the fixture is there");
    let half = log[..log.len() / 2].rfind('\n').expect("it has lines") + 1;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed
        .write_all(&log.as_bytes()[..half])
        .expect("a vector takes all");
    let packed = packed.finish().expect("a vector takes all");
    fs::create_dir(folder.path("logs")).expect("created");
    let rotated = folder.path("logs/audit-2026-10-05T08-16-10.000.log.gz");
    fs::write(rotated, packed).expect("written");
    fs::write(folder.path("logs/audit.log"), &log[half..]).expect("written");

    let dump = recorded.to_str().expect("UTF-8");
    let requests = |given: &str| {
        let evidence = folder.flag("evidence");
        let run = ["run", "--from", dump, "--audit-log", given, "--record", &evidence];
        let done = call(&run);
        let text = folder.text("evidence");
        let requests: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("{\"request"))
            .map(str::to_owned)
            .collect();
        (requests, done.err)
    };
    let (whole, said) = requests(&format!("{dump}/audit.log"));
    assert!(whole.len() > 20, "{whole:?}");
    assert!(!said.contains("note: "), "{said}");
    let note = "note: the audit log was read with 1 file that belongs to it";
    let (found, said) = requests(&folder.flag("logs/audit.log"));
    assert_eq!(found, whole);
    assert!(said.contains(note), "{said}");
    let (in_folder, _) = requests(&folder.flag("logs"));
    assert_eq!(in_folder, whole);
    refused(
        &["run", "--from", dump, "--audit-log", &folder.flag("none.log")],
        &["failed to read the audit log", "none.log"],
    );
}

#[test]
fn a_report_on_standard_output_stays_when_that_is_a_file() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("out")).expect("created");
    let mut run = command(&["run", "--from", "conforming.yaml", "--record", "/dev/stdout"]);
    assert!(run.stdout(file).status().expect("the command runs").success());
    let told = folder.text("out");
    assert!(
        told.starts_with("{\"header\":") && told.contains("\n{\"end\":{}}\n"),
        "{told}"
    );
    assert!(told.contains("identity/manager-label-present"), "{told}");
}

#[test]
fn a_hub_out_of_reach_is_one_message_and_leaves_reports() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    let kubeconfig = folder.kubeconfig(1);
    let done = call(&[
        "run",
        "--kubeconfig",
        &kubeconfig,
        "--json",
        &json,
        "--junit",
        &junit,
    ]);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert_eq!(done.out, "");
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    assert!(done.err.contains("context here"), "{}", done.err);
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "inconclusive");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert!(
        verdicts
            .iter()
            .all(|verdict| verdict["verdict"] == "inconclusive"),
        "{report:#}"
    );
    assert!(folder.text("report.xml").contains("<error "));
    let unknown = ["run", "--kubeconfig", &kubeconfig, "--context", "there"];
    refused(&unknown, &["there"]);
    let done = call(&["run"]);
    assert_eq!(done.code, Some(4), "{}", done.err);
    assert!(done.err.contains("--kubeconfig"), "{}", done.err);
}

#[test]
fn the_lab_shows_what_a_run_is_like() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    let lab = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "--json",
        &json,
        "--junit",
        &junit,
    ];
    expect(0, &lab);
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "conformant");
    assert_eq!(report["watched"], true);
    for verdict in report["verdicts"].as_array().expect("verdicts") {
        let expected = of_the_reference(verdict["rule"].as_str().expect("a rule"));
        assert_eq!(verdict["verdict"], expected, "{verdict}");
    }
    assert!(folder.text("report.xml").contains(r#"failures="0""#));

    let fault = "reference=identity/manager-label-matches,conditions/well-formed";
    expect(1, &["run", "--hub", "lab", "--manager", fault, "--json", &json]);
    let report = folder.json("report.json");
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let failed: Vec<_> = verdicts
        .filter(|v| v["verdict"] == "fail")
        .map(|v| &v["rule"])
        .collect();
    assert_eq!(
        failed,
        ["identity/manager-label-matches", "conditions/well-formed"]
    );

    let elsewhere = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference=identity/member-id-set",
    ];
    refused(&elsewhere, &["edition standard", "add --edition 2026-09"]);
}

/// How a rule comes out for the reference implementation. No published definition takes a plugin's arguments as the list that
/// they are, so it publishes none.
fn of_the_reference(rule: &str) -> &'static str {
    match rule {
        "access/additional-args-well-formed" => "not-applicable",
        _ => "pass",
    }
}

/// The verdicts of a run in the lab.
fn of_the_lab(more: &[&str]) -> Vec<(&'static Rule, String)> {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let lab = ["run", "--hub", "lab", "--manager", "reference", "--json", &json];
    expect(0, &[&lab[..], more].concat());
    let report = folder.json("report.json");
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let of = |verdict: &Value| {
        let rule = verdict["rule"].as_str().and_then(rules::find);
        (
            rule.expect("a known rule"),
            verdict["verdict"].as_str().expect("a verdict").to_owned(),
        )
    };
    verdicts.map(of).collect()
}

#[test]
fn the_lab_judges_every_must_rule_of_each_role_by_default() {
    for roles in ["scheduler", "manager,scheduler"] {
        for (rule, verdict) in of_the_lab(&["--role", roles]) {
            assert_eq!(verdict, of_the_reference(rule.id), "--role {roles}: {}", rule.id);
        }
    }
}

#[test]
fn what_the_lab_brings_can_be_left_out() {
    for (flag, kind) in [("--driver", Kind::Driver), ("--members", Kind::Members)] {
        for (rule, verdict) in of_the_lab(&[flag, "none"]) {
            let lacks = rule.facts.needs.contains(&kind);
            assert!(
                !lacks || verdict == "skipped",
                "{flag} none: {}: {verdict}",
                rule.id
            );
        }
    }
    let lab = ["run", "--hub", "lab", "--manager", "reference"];
    let without = expect(0, &[&lab[..], &["--audit-log", "none"]].concat());
    assert!(!without.contains("judged from the audit log"), "{without}");
    // What cannot show the driver's effects leaves it out by itself.
    expect(3, &[&lab[..], &["--observe", "0s"]].concat());
    for namespace in ["lab-clusterset", "lab-fleet"] {
        expect(0, &[&lab[..], &["-n", namespace]].concat());
    }
    for (more, told) in [
        (
            &["--audit-log", "conforming.yaml"][..],
            "a test hub's own audit log is read",
        ),
        (
            &["--driver", "none", "--allow-mutations"],
            "leave out --allow-mutations",
        ),
        (
            &["--members", "none", "--members", "m.yaml"],
            "--members none queries no member",
        ),
    ] {
        refused(&[&lab[..], more].concat(), &[told]);
    }
}

#[test]
fn a_conforming_dump_has_no_violation_and_is_not_called_conformant() {
    let told = expect(0, &["run", "--from", "conforming.yaml"]);
    assert!(!told.contains("conformant with"), "{told}");
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no violation found: "), "{told}");
    let (_, needs) = words
        .split_once("over 2 profiles, single snapshot; the rest needs ")
        .expect("it says what a dump cannot show");
    assert!(needs.contains("a watch") && needs.contains("a driver"), "{needs}");
    assert!(!told.contains('\u{1b}'), "no colours in a pipe: {told:?}");
}

#[test]
fn a_violation_is_told_so_that_it_can_be_mended() {
    let done = call_in_80_columns(&[
        "run",
        "--from",
        "violating.yaml",
        "identity/manager",
        "endpoints",
        "conditions/",
    ]);
    assert_eq!(done.code, Some(1), "{}{}", done.out, done.err);
    for line in done.out.lines() {
        // A command to copy and a test of the list stay in one line.
        let is_whole = line.starts_with("  explain ") || line.starts_with("test [");
        assert!(is_whole || line.chars().count() <= 80, "too wide: {line}");
        assert!(!line.chars().any(char::is_control), "harmful: {line:?}");
    }
    let piped = call(&["run", "--from", "violating.yaml", "identity/manager"]);
    let unwrapped =
        |line: &str| line.starts_with("not conformant with edition") && line.contains("single snapshot");
    assert!(piped.out.lines().any(unwrapped), "{}", piped.out);
    // How many rules there are besides is not of this test.
    let others =
        Regex::new(r"\d+ filtered out|\d+ of \d+\s+MUST rules\s+judged \([^)]*\)").expect("a pattern");
    assert_eq!(others.find_iter(&done.out).count(), 2, "{}", done.out);
    insta::assert_snapshot!(others.replace_all(&done.out, "[others]"));
}

#[test]
fn should_rules_count_under_strict() {
    let warned = [
        "run",
        "--from",
        "violating.yaml",
        "conditions/joined-reported",
        "conditions/well-formed",
    ];
    let told = expect(0, &warned);
    assert!(told.contains("... warn: 1\n"), "{told}");
    let told = expect(1, &[&warned[..], &["--strict"]].concat());
    assert!(
        told.contains("1 SHOULD rule fails (") && told.contains(", strict)"),
        "{told}"
    );
}

#[test]
fn a_replay_gives_the_same_report() {
    let folder = Folder::new();
    let (evidence, first, again) = (
        folder.flag("evidence.jsonl.zst"),
        folder.flag("1.json"),
        folder.flag("2.json"),
    );
    expect(
        1,
        &[
            "run",
            "--from",
            "violating.yaml",
            "--record",
            &evidence,
            "--json",
            &first,
        ],
    );
    expect(1, &["replay", &evidence, "--json", &again]);
    let but_for_the_time = |name: &str| {
        let text = folder.text(name);
        let lines: Vec<String> = text
            .lines()
            .filter(|line| !line.contains("\"judgedAt\""))
            .map(str::to_owned)
            .collect();
        assert_eq!(lines.len() + 1, text.lines().count());
        lines
    };
    assert_eq!(but_for_the_time("1.json"), but_for_the_time("2.json"));
    let report = folder.json("2.json");
    assert_eq!(report["evidence"]["file"], Value::from(evidence));
    assert_eq!(
        report["evidence"]["source"],
        folder.json("1.json")["evidence"]["source"]
    );
    assert_eq!(report["decision"], "not-conformant");
}

#[test]
fn the_list_can_be_short_or_for_machines() {
    let filter = [
        "run",
        "--from",
        "conforming.yaml",
        "--exact",
        "identity/manager-label-present",
    ];
    let told = expect(0, &filter);
    assert!(told.contains("running 1 test\n"), "{told}");
    assert!(!told.contains(" 0 filtered out"), "{told}");
    let told = expect(0, &[&filter[..], &["--format", "terse"]].concat());
    assert!(told.contains("running 1 test\n.\n"), "{told}");
    let done = call(&[&filter[..], &["--format", "json"]].concat());
    assert_eq!(done.code, Some(0));
    for line in done.out.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(done.err.contains("no violation found: 1 of "), "{}", done.err);
}

#[test]
fn a_reader_who_has_read_enough_is_no_reason_to_fail() {
    let folder = Folder::new();
    let mut run = command(&[
        "run",
        "--from",
        "conforming.yaml",
        "--json",
        &folder.flag("report.json"),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command runs");
    drop(run.stdout.take());
    let done = run.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
}

#[test]
fn rules_are_listed_and_explained() {
    let table = expect(0, &["list"]);
    assert!(
        table.contains("MUST    explicit  identity/manager-label-present\n"),
        "{table}"
    );
    assert!(!table.contains("identity/member-id-non-empty"), "{table}");
    let other = expect(0, &["list", "--edition", "2026-09"]);
    assert!(
        other.contains("MUST    explicit  identity/member-id-non-empty\n"),
        "{other}"
    );
    let json: Value = serde_json::from_str(&expect(0, &["list", "--format", "json"])).expect("JSON");
    assert_eq!(json[0]["rule"], "identity/manager-label-present");
    assert_eq!(json[0]["level"], "MUST");
    let of_edition = |edition: &str| expect(0, &["list", "--format", "markdown", "--edition", edition]);
    assert!(!of_edition("standard").contains("`identity/member-id-set`"));
    assert!(of_edition("2026-09").contains("| `identity/member-id-set` | SHOULD | explicit | 2026-09 |"));
    let told = expect(0, &["explain", "identity/manager-label-present"]);
    for part in [
        "[MUST explicit] identity/manager-label-present",
        "KEP-4322",
        "remedy",
        "passes:",
        "fails:",
        "and a report says",
        "observed",
    ] {
        assert!(told.contains(part), "{part} is not in: {told}");
    }
}

#[test]
fn the_rules_in_the_documents_are_those_that_are_listed() {
    let listed = expect(0, &["list", "--format", "markdown"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &listed).expect("written");
    }
    let written = fs::read_to_string(&path).expect("the document is there");
    assert!(
        written == listed,
        "docs/rules.md is out of date: renew it with `just rules`"
    );
}

#[test]
fn what_others_install_is_printed() {
    let crds = expect(0, &["crd"]);
    for file in [
        "clusterprofiles.multicluster.x-k8s.io",
        "placementdecisions.multicluster.x-k8s.io",
        "clusterproperties.about.k8s.io",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/crds")
            .join(format!("{file}.yaml"));
        let fixture = fs::read_to_string(path).expect("the fixture is there");
        assert!(
            crds.contains(fixture.trim_start_matches("---\n").trim_end()),
            "{file}"
        );
    }
    let role = expect(0, &["rbac"]);
    assert!(
        role.contains("kind: ClusterRole") && role.contains("clusterprofiles"),
        "{role}"
    );
    let role = expect(0, &["rbac", "--namespace", "fleet", "--no-secrets"]);
    assert!(
        role.contains("namespace: \"fleet\"") && !role.contains("secrets"),
        "{role}"
    );
    for shell in ["bash", "zsh", "fish"] {
        assert!(expect(0, &["completions", shell]).contains("replay"), "{shell}");
    }
}
