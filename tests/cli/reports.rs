//! Reports that are submitted: what `--report` leaves, and what `report` makes of it.

use std::{fs, path::Path};

use evidence::{Checksum, Digester, Implementation, read_input};
use judge::{Selection, Waivers, judge};
use report::{Report, submitted::compose};
use serde_json::Value;

use super::{Folder, command, expect, refused};

impl Folder {
    /// Judges a dump, and leaves a report and its evidence under that name.
    fn report(&self, code: i32, name: &str, arguments: &[&str]) -> (String, String) {
        let (report, evidence) = (
            self.flag(&format!("{name}.yaml")),
            self.flag(&format!("{name}.jsonl.zst")),
        );
        let leave = ["--report", &report, "--record", &evidence];
        expect(code, &[&["run"][..], arguments, &leave].concat());
        (report, evidence)
    }

    fn yaml(&self, name: &str) -> Value {
        serde_saphyr::from_str(&self.text(name)).expect("YAML")
    }

    /// Changes a file's text.
    fn edit(&self, name: &str, old: &str, new: &str) {
        let text = self.text(name);
        assert!(text.contains(old), "{old:?} is not in: {text}");
        fs::write(self.path(name), text.replacen(old, new, 1)).expect("written");
    }
}

#[test]
fn a_report_is_verified_against_its_evidence() {
    let folder = Folder::new();
    let (report, evidence) = folder.report(1, "one", &["--from", "violating.yaml"]);
    let verify = ["report", "verify", &report, &evidence];
    let told = expect(0, &verify);
    assert!(told.starts_with("holds: "), "{told}");
    assert!(
        told.contains("not submittable: it does not say who made"),
        "{told}"
    );
    let kept = &folder.yaml("one.yaml")["evidence"];
    assert_eq!(kept["file"], "one.jsonl.zst");
    assert_eq!(
        kept["judgeAgain"],
        "clusterprofile-conformance report verify REPORT one.jsonl.zst"
    );

    // A replay is of the same evidence, and says so.
    let again = folder.flag("again.yaml");
    expect(1, &["replay", &evidence, "--report", &again]);
    assert_eq!(folder.yaml("again.yaml")["evidence"]["sha256"], kept["sha256"]);
    expect(0, &["report", "verify", &again, &evidence]);
    assert!(expect(0, &["report", "diff", &report, &again]).contains("nothing changed"));

    folder.edit("one.yaml", "verdict: fail", "verdict: warn");
    let told = expect(1, &verify);
    assert!(
        told.starts_with("does not hold: ") && told.contains("identity/"),
        "{told}"
    );
    folder.edit("again.yaml", "sha256: ", "sha256: 0");
    assert!(expect(1, &["report", "verify", &again, &evidence]).contains("evidence.sha256"));
}

#[test]
fn files_that_are_no_reports_or_evidence_are_refused() {
    let folder = Folder::new();
    let (report, evidence) = folder.report(0, "one", &["--from", "conforming.yaml", "identity/"]);
    refused(
        &["report", "verify", "conforming.yaml", &evidence],
        &["conforming.yaml", "it is not a report"],
    );
    refused(
        &["report", "verify", "missing.yaml", &evidence],
        &["missing.yaml"],
    );
    refused(
        &["report", "verify", &report, "missing.jsonl"],
        &["missing.jsonl"],
    );
    refused(&["report", "verify", &report, &folder.flag("")], &["is no file"]);
    refused(
        &["report", "diff", &report, &evidence],
        &["one.jsonl.zst", "did you pass the evidence file"],
    );
    folder.edit("one.yaml", "decision:", "verdict: x\ndecision:");
    refused(
        &["report", "verify", &report, &evidence],
        &["verdict", "submit the report as the suite wrote it"],
    );
    folder.edit("one.yaml", "suiteVersion: \"", "suiteVersion: \"99.");
    refused(
        &["report", "diff", &report, &report],
        &["verdict", "it is by suite 99.", "read it with that suite"],
    );
    refused(
        &[
            "run",
            "--from",
            "conforming.yaml",
            "--report-format",
            "sig-multicluster",
        ],
        &["--report-format needs --report FILE"],
    );
}

#[test]
fn without_a_file_to_verify_it_with_a_report_is_not_fit() {
    let folder = Folder::new();
    let report = folder.flag("report.yaml");
    let dump = fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/conforming.yaml"));
    let from_stream = command(&["run", "--from", "-", "identity/", "--report", &report])
        .stdin(dump.expect("the dump is there"))
        .output()
        .expect("the command runs");
    assert_eq!(from_stream.status.code(), Some(0));
    assert_eq!(folder.yaml("report.yaml").get("evidence"), None);
    // A dump is evidence as well, while nothing is added to it.
    expect(
        0,
        &[
            "run",
            "--from",
            "conforming.yaml",
            "identity/",
            "--report",
            &report,
        ],
    );
    assert_eq!(folder.yaml("report.yaml")["evidence"]["file"], "conforming.yaml");
    expect(0, &["report", "verify", &report, "conforming.yaml"]);
}

#[test]
fn reports_on_different_roles_are_not_compared() {
    let folder = Folder::new();
    let (profiles, _) = folder.report(0, "profiles", &["--from", "conforming.yaml", "identity/"]);
    let placement = ["--from", "conforming.yaml", "--edition", "placement-2025-09"];
    let (placements, _) = folder.report(3, "placements", &placement);
    for (old, new) in [(&profiles, &placements), (&placements, &profiles)] {
        refused(
            &["report", "diff", old, new],
            &[
                "cannot be compared",
                "a manager (edition standard)",
                "a scheduler (edition placement-2025-09)",
            ],
        );
    }
}

/// Two notes that each name the evidence that was used seem to contradict each other.
#[test]
fn a_rule_says_once_what_it_was_judged_from() {
    let folder = Folder::new();
    let json = folder.flag("out.json");
    let lab = [
        "run",
        "--hub",
        "lab",
        "--manager",
        "reference",
        "--driver",
        "none",
    ];
    expect(0, &[&lab[..], &["--json", &json]].concat());
    let report: Value = serde_json::from_str(&folder.text("out.json")).expect("JSON");
    let mut said = 0;
    for verdict in report["verdicts"].as_array().expect("verdicts") {
        let notes = verdict["notes"].as_array().into_iter().flatten();
        let notes = notes.filter(|note| note.as_str().is_some_and(|note| note.starts_with("judged from")));
        let notes: Vec<&Value> = notes.collect();
        assert!(notes.len() <= 1, "{}: {notes:?}", verdict["rule"]);
        said += notes.len();
    }
    assert!(said > 0, "no rule says it");
}

#[test]
fn a_diff_exits_by_whether_something_got_worse() {
    let folder = Folder::new();
    let (good, _) = folder.report(0, "good", &["--from", "conforming.yaml"]);
    let (bad, _) = folder.report(1, "bad", &["--from", "violating.yaml"]);
    let told = expect(1, &["report", "diff", &good, &bad]);
    assert!(
        told.contains("worse:") && told.contains("identity/manager-label-matches: pass → fail"),
        "{told}"
    );
    assert!(
        told.contains("decision: ") && told.contains("→ not-conformant"),
        "{told}"
    );
    let told = expect(0, &["report", "diff", &bad, &good]);
    assert!(told.contains("nothing got worse"), "{told}");
    let json: Value =
        serde_json::from_str(&expect(1, &["report", "diff", &good, &bad, "--format", "json"])).expect("JSON");
    assert_eq!(json["worse"], true);
    assert_eq!(json["head"][0]["at"], "decision");
    let rules = json["rules"].as_array().expect("rules");
    assert!(rules.iter().any(|rule| rule["new"] == "fail"), "{json}");
}

#[test]
fn the_matrix_of_the_sig_is_fed() {
    let folder = Folder::new();
    let matrix = folder.flag("matrix.yaml");
    let shape = ["--report", &matrix, "--report-format", "sig-multicluster"];
    expect(1, &[&["run", "--from", "violating.yaml"][..], &shape].concat());
    let written = folder.yaml("matrix.yaml");
    assert_eq!(written["groups"][0]["name"], "Required");
    let test = &written["groups"][0]["tests"][1];
    let of = |key: &str| test[key].as_bool();
    assert_eq!(
        test["desc"],
        "identity/manager-label-matches: The manager label equals spec.clusterManager.name"
    );
    assert_eq!(
        ["passed", "failed", "skipped", "conformant"].map(of),
        [Some(false), Some(false), Some(false), Some(false)]
    );
    assert_eq!(written["implementation"]["project"], "");
}

#[test]
fn the_report_of_the_reference_manager_with_a_fault_and_a_waiver() {
    let folder = Folder::new();
    let faults = "reference=conditions/observed-generation-not-ahead,conditions/joined-reported";
    let (_, recorded) = folder.report(
        1,
        "lab",
        &["--hub", "lab", "--driver", "none", "--manager", faults],
    );
    let recorded = Path::new(&recorded);
    let mut evidence = read_input(recorded, &Digester::new([7; 32]))
        .expect("evidence")
        .evidence;
    evidence.header.claim.about.implementation = Some(Implementation {
        organization: "Example".to_owned(),
        project: "reference".to_owned(),
        url: "https://reference.example".to_owned(),
        version: "v1.2.3".to_owned(),
        contact: vec!["@someone".to_owned()],
    });
    let selection = Selection::default();
    let mut judgement = judge(&evidence, &selection);
    let waivers = "waivers: [{rule: conditions/joined-reported, reason: renamed in v2, \
                   link: 'https://reference.example/issues/1', expires: 2027-01-01}]";
    let waivers = Waivers::parse(waivers).expect("waivers");
    judgement.waive(&waivers, "2026-06-01".parse().expect("a day"), false);
    let report = Report {
        evidence: &evidence,
        judgement: &judgement,
        selection: &selection,
        judged_at: "2026-06-01T10:00:00Z".parse().expect("a time"),
        file: recorded.to_str(),
        editions: &[],
        advice: report::no_advice,
    };
    let sum = Checksum::of_file(recorded).expect("read");
    let mut document = compose(&report, sum.as_ref());
    // New rules of other suites change nothing here.
    document.suites.retain(|suite| suite.name == "conditions");
    // What differs from run to run.
    document.scope.window = None;
    if let Some(kept) = &mut document.evidence {
        (kept.sha256, kept.bytes) = ("ab".repeat(32), 4096);
    }
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("a vector takes all");
    insta::assert_snapshot!(String::from_utf8(bytes).expect("UTF-8"));
}
