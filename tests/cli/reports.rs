//! Reports that are submitted: what `--report` leaves, and what `report` makes of it.

use evidence::{Checksum, Digester, Implementation, Limits, read_input};
use judge::{Selection, Waivers, judge};
use report::{Report, submitted::compose};

use super::*;

impl Folder {
    /// Runs with these flags, and leaves a report and its evidence under that name.
    fn report(&self, code: i32, name: &str, flags: &str) -> (String, String) {
        let report = self.flag(&format!("{name}.yaml"));
        let evidence = self.flag(&format!("{name}.jsonl.zst"));
        expect(code, format!("run {flags} --report {report} --record {evidence}"));
        (report, evidence)
    }

    fn yaml(&self, name: &str) -> Value {
        serde_saphyr::from_str(&self.text(name)).expect("YAML")
    }

    /// Replaces a text in a file.
    pub fn edit(&self, name: &str, old: &str, new: &str) {
        let text = self.text(name);
        assert_contains(&text, &[old]);
        self.write(name, text.replacen(old, new, 1));
    }
}

#[test]
fn a_report_is_verified_against_its_evidence() {
    let folder = Folder::new();
    let (report, evidence) = folder.report(1, "one", "--from violating.yaml");
    let verify = format!("report verify {report} {evidence}");
    let printed = expect(0, &verify);
    assert!(printed.starts_with("holds: "), "{printed}");
    assert_contains(&printed, &["not submittable: it does not say who made"]);
    let kept = &folder.yaml("one.yaml")["evidence"];
    assert_eq!(kept["file"], "one.jsonl.zst");
    let command = "clusterprofile-conformance report verify REPORT one.jsonl.zst";
    assert_eq!(kept["judgeAgain"], command);

    // A replay names the same evidence.
    let again = folder.flag("again.yaml");
    expect(1, format!("replay {evidence} --report {again}"));
    assert_eq!(folder.yaml("again.yaml")["evidence"]["sha256"], kept["sha256"]);
    let verify_again = format!("report verify {again} {evidence}");
    expect(0, &verify_again);
    assert_contains(
        &expect(0, format!("report diff {report} {again}")),
        &["nothing changed"],
    );

    folder.edit("one.yaml", "verdict: fail", "verdict: warn");
    let printed = expect(1, &verify);
    assert!(
        printed.starts_with("does not hold: ") && printed.contains("identity/"),
        "{printed}"
    );
    folder.edit("again.yaml", "sha256: ", "sha256: 0");
    assert_contains(&expect(1, &verify_again), &["evidence.sha256"]);
}

#[test]
fn files_that_are_not_reports_or_evidence_are_refused() {
    let folder = Folder::new();
    let (report, evidence) = folder.report(0, "one", "--from conforming.yaml identity/");
    refused(
        format!("report verify {report} missing.jsonl"),
        &["missing.jsonl"],
    );
    refused(
        format!("report verify {report} {}", folder.flag("")),
        &["is not a file"],
    );
    let parts = ["one.jsonl.zst", "did you pass the evidence file"];
    refused(format!("report diff {report} {evidence}"), &parts);
    folder.edit("one.yaml", "decision:", "verdict: x\ndecision:");
    let parts = ["verdict", "submit the report as the suite wrote it"];
    refused(format!("report verify {report} {evidence}"), &parts);
    folder.edit("one.yaml", "suiteVersion: \"", "suiteVersion: \"99.");
    let parts = ["verdict", "it is by suite 99.", "read it with that suite"];
    refused(format!("report diff {report} {report}"), &parts);
}

#[test]
fn a_report_of_a_stream_names_no_evidence() {
    let folder = Folder::new();
    let report = folder.flag("report.yaml");
    let dump = fs::File::open(format!("{ROOT}/tests/cli/conforming.yaml")).expect("the dump is there");
    let mut run = command(format!("run --from - identity/ --report {report}"));
    assert!(
        run.stdin(dump)
            .output()
            .expect("the command runs")
            .status
            .success()
    );
    assert_eq!(folder.yaml("report.yaml").get("evidence"), None);
    // A dump is evidence as well, while nothing is added to it.
    expect(
        0,
        format!("run --from conforming.yaml identity/ --report {report}"),
    );
    assert_eq!(folder.yaml("report.yaml")["evidence"]["file"], "conforming.yaml");
    expect(0, format!("report verify {report} conforming.yaml"));
}

#[test]
fn reports_on_different_roles_are_not_compared() {
    let folder = Folder::new();
    let (profiles, _) = folder.report(0, "profiles", "--from conforming.yaml identity/");
    let placement = "--from conforming.yaml --edition placement-2025-09";
    let (placements, _) = folder.report(3, "placements", placement);
    let roles = [
        "a manager (edition standard)",
        "a scheduler (edition placement-2025-09)",
    ];
    for (old, new) in [(&profiles, &placements), (&placements, &profiles)] {
        refused(
            format!("report diff {old} {new}"),
            &["cannot be compared", roles[0], roles[1]],
        );
    }
}

/// Two notes that each name the evidence of a verdict would contradict each other.
#[test]
fn a_rule_says_once_which_evidence_it_was_judged_from() {
    let folder = Folder::new();
    let json = folder.flag("out.json");
    expect(
        0,
        format!("run --hub lab --manager reference --driver none --json {json}"),
    );
    let report = folder.json("out.json");
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let counts = verdicts.map(|verdict| verdict["notes"].to_string().matches("\"judged from").count());
    assert_eq!(counts.max(), Some(1));
}

#[test]
fn a_diff_exits_by_whether_something_got_worse() {
    let folder = Folder::new();
    let (good, _) = folder.report(0, "good", "--from conforming.yaml");
    let (bad, _) = folder.report(1, "bad", "--from violating.yaml");
    let worse = format!("report diff {good} {bad}");
    let parts = [
        "worse:",
        "identity/manager-label-matches: pass → fail",
        "decision: ",
        "→ not-conformant",
    ];
    assert_contains(&expect(1, &worse), &parts);
    assert_contains(
        &expect(0, format!("report diff {bad} {good}")),
        &["nothing got worse"],
    );
    let json: Value = serde_json::from_str(&expect(1, format!("{worse} --format json"))).expect("JSON");
    assert_eq!(json["worse"], true);
    assert_eq!(json["head"][0]["at"], "decision");
    let rules = json["rules"].as_array().expect("rules");
    assert!(rules.iter().any(|rule| rule["new"] == "fail"), "{json}");
}

#[test]
fn the_report_of_the_sig_has_its_format() {
    let folder = Folder::new();
    let matrix = folder.flag("matrix.yaml");
    expect(
        1,
        format!("run --from violating.yaml --report {matrix} --report-format sig-multicluster"),
    );
    let written = folder.yaml("matrix.yaml");
    assert_eq!(written["groups"][0]["name"], "Required");
    let test = &written["groups"][0]["tests"][1];
    let description = "identity/manager-label-matches: The manager label equals spec.clusterManager.name";
    assert_eq!(test["desc"], description);
    for key in ["passed", "failed", "skipped", "conformant"] {
        assert_eq!(test[key], false, "{key}");
    }
    assert_eq!(written["implementation"]["project"], "");
}

#[test]
fn the_report_of_the_reference_manager_with_a_fault_and_a_waiver() {
    let folder = Folder::new();
    let faults = "reference=conditions/observed-generation-not-ahead,conditions/joined-reported";
    let (_, recorded) = folder.report(1, "lab", &format!("--hub lab --driver none --manager {faults}"));
    let recorded = Path::new(&recorded);
    let input = read_input(recorded, &Digester::new([7; 32])).expect("evidence");
    let mut evidence = input.evidence;
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
    let sum = Checksum::of_file(recorded, &Limits::default()).expect("read");
    let mut document = compose(&report, sum.as_ref());
    // New rules of other suites change nothing here.
    document.suites.retain(|suite| suite.name == "conditions");
    // These differ from run to run.
    document.scope.window = None;
    if let Some(kept) = &mut document.evidence {
        (kept.sha256, kept.bytes) = ("ab".repeat(32), 4096);
    }
    let mut bytes = Vec::new();
    document.write(&mut bytes).expect("a vector takes all");
    insta::assert_snapshot!(String::from_utf8(bytes).expect("UTF-8"));
}
