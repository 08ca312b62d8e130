//! Reports that are submitted: what `--report` leaves, and what `report` makes of it.

use super::*;

impl Folder {
    /// Runs with these flags, and leaves a report and its evidence under that name.
    fn report(&self, code: i32, name: &str, flags: &str) -> (String, String) {
        let report = self.flag(&format!("{name}.yaml"));
        let evidence = self.flag(&format!("{name}.jsonl.zst"));
        expect(code, format!("run {flags} --report {report} --record {evidence}"));
        (report, evidence)
    }

    pub fn yaml(&self, name: &str) -> Value {
        serde_saphyr::from_str(&self.text(name)).expect("YAML")
    }

    pub fn edit(&self, name: &str, old: &str, new: &str) {
        let text = self.text(name);
        assert_contains(&text, &[old]);
        self.write(name, text.replacen(old, new, 1));
    }
}

#[test]
fn report_is_verified_against_its_evidence() {
    let folder = Folder::new();
    let (report, evidence) = folder.report(1, "one", "--from violating.yaml");
    let verify = format!("report verify {report} {evidence}");
    let printed = expect_output(0, &verify, &["not submittable: implementation is missing"]);
    assert!(printed.starts_with("holds: "), "{printed}");
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
    expect_output(0, format!("report diff {report} {again}"), &["nothing changed"]);

    folder.edit("one.yaml", "verdict: fail", "verdict: warn");
    expect_output(1, &verify, &["does not hold: ", "identity/"]);
    folder.edit("again.yaml", "sha256: ", "sha256: 0");
    expect_output(1, &verify_again, &["evidence.sha256"]);
}

#[test]
fn files_that_are_not_reports_or_evidence_are_refused() {
    let folder = Folder::new();
    let (report, evidence) = folder.report(0, "one", "--from conforming.yaml identity/");
    let verify = format!("report verify {report} missing.jsonl");
    refused(verify, &["missing.jsonl"]);
    refused(format!("report verify {report} ."), &["is not a file"]);
    let parts = ["one.jsonl.zst", "did you pass the evidence file"];
    refused(format!("report diff {report} {evidence}"), &parts);
    folder.edit("one.yaml", "suiteVersion: \"", "suiteVersion: \"99.");
    folder.edit("one.yaml", "decision:", "verdict: x\ndecision:");
    let parts = ["verdict", "it is by suite 99.", "read it with that suite"];
    refused(format!("report diff {report} {report}"), &parts);

    // Reports on different roles are not compared.
    let (profiles, _) = folder.report(0, "profiles", "--from conforming.yaml identity/");
    let placement = "--from conforming.yaml --edition placement-2025-09";
    let (placements, _) = folder.report(3, "placements", placement);
    let parts = [
        "a manager (edition standard)",
        "a scheduler (edition placement-2025-09)",
    ];
    for (old, new) in [(&profiles, &placements), (&placements, &profiles)] {
        refused(format!("report diff {old} {new}"), &parts);
    }
}

#[test]
fn report_of_a_stream_names_no_evidence() {
    let folder = Folder::new();
    let report = folder.flag("report.yaml");
    let dump = fs::File::open(format!("{ROOT}/tests/cli/conforming.yaml")).expect("the dump is there");
    let mut run = command(format!("run --from - identity/ --report {report}"));
    assert_eq!(done(run.stdin(dump)).code, Some(0));
    assert_eq!(folder.yaml("report.yaml").get("evidence"), None);
    // A dump is evidence too, if nothing is added to it.
    let run = format!("run --from conforming.yaml identity/ --report {report}");
    expect(0, run);
    assert_eq!(folder.yaml("report.yaml")["evidence"]["file"], "conforming.yaml");
    expect(0, format!("report verify {report} conforming.yaml"));
}

/// Two notes that each name the evidence of a verdict would contradict each other.
#[test]
fn rule_names_its_evidence_once() {
    let folder = Folder::new();
    let json = folder.flag("out.json");
    let run = format!("run --hub lab --manager reference --driver none --json {json}");
    expect(0, run);
    let report = folder.json("out.json");
    let verdicts = verdicts(&report);
    let counts = verdicts.map(|verdict| verdict["notes"].to_string().matches("\"judged from").count());
    assert_eq!(counts.max(), Some(1));
}

#[test]
fn diff_fails_if_something_got_worse() {
    let folder = Folder::new();
    let (good, _) = folder.report(0, "good", "--from conforming.yaml");
    let (bad, _) = folder.report(1, "bad", "--from violating.yaml");
    let worse = format!("report diff {good} {bad}");
    let rule = "identity/manager-label-matches: pass → fail";
    let parts = ["worse:", rule, "decision: ", "→ not-conformant"];
    expect_output(1, &worse, &parts);
    expect_output(0, format!("report diff {bad} {good}"), &["nothing got worse"]);
    let json: Value = serde_json::from_str(&expect(1, format!("{worse} --format json"))).expect("JSON");
    assert_eq!(json["worse"], true);
    assert_eq!(json["head"][0]["at"], "decision");
    let rules = json["rules"].as_array().expect("rules");
    assert!(rules.iter().any(|rule| rule["new"] == "fail"), "{json}");
}

#[test]
fn the_report_of_the_reference_manager_with_a_fault_and_a_waiver() {
    let folder = Folder::new();
    let config = folder.config(
        "implementation: {organization: Example, project: reference, url: 'https://reference.example', \
         version: v1.2.3, contact: ['@someone']}",
    );
    let waivers = folder.write(
        "waivers.yaml",
        "waivers: [{rule: conditions/joined-reported, reason: renamed in v2, \
         link: 'https://reference.example/issues/1', expires: 2999-01-01}]",
    );
    let faults = "reference=conditions/observed-generation-not-ahead,conditions/joined-reported";
    let flags = format!("--driver none --config {config} --waivers {waivers}");
    folder.report(1, "lab", &format!("--hub lab --manager {faults} {flags}"));
    let text = folder.text("lab.yaml");
    // New rules of other suites change nothing here.
    let (head, suites) = text.split_once("\nsuites:\n").expect("suites");
    let (suites, waivers) = suites.split_once("\nwaivers:\n").expect("waivers");
    let mut suites = suites.split("- name: ");
    let suite = suites
        .find(|suite| suite.starts_with("conditions\n"))
        .expect("a suite");
    // These differ from run to run.
    let changing = Regex::new("(?m)^( *)(date|from|until|sha256|bytes): .*").expect("a pattern");
    insta::assert_snapshot!(changing.replace_all(&format!("{head}\n{suite}\n{waivers}"), "$1$2: …"));
}
