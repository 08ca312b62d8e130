//! Runs on the lab.

use evidence::Kind;

use super::*;

const LAB: &str = "run --hub lab --manager";

fn expected_of_reference(rule: &str) -> &'static str {
    match rule {
        // No published definition takes the list that KEP-5339 asks for, so the manager publishes none.
        "access/additional-args-well-formed" => "not-applicable",
        // Needs `--expect-profiles`.
        "identity/expected-profiles" => "skipped",
        _ => "pass",
    }
}

#[test]
fn every_rule_of_each_role_is_judged_by_default() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    for flags in ["", "--role manager,scheduler"] {
        let run = format!("{LAB} reference {flags} --json {json} --junit {junit}");
        expect(0, run);
        let report = folder.json("report.json");
        assert_eq!(report["decision"], "conformant");
        assert_eq!(report["watched"], true);
        for verdict in verdicts(&report) {
            let expected = expected_of_reference(verdict["rule"].as_str().expect("a rule"));
            assert_eq!(verdict["verdict"], expected, "{verdict}");
        }
        assert!(folder.text("report.xml").contains(r#"failures="0""#));
    }
    let faults = "reference=identity/manager-label-matches,conditions/well-formed";
    expect(1, format!("{LAB} {faults} --json {json}"));
    let failed = ["identity/manager-label-matches", "conditions/well-formed"];
    assert_eq!(rules_with(&folder.json("report.json"), "fail"), failed);
}

#[test]
fn evidence_of_the_lab_can_be_left_out() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let none = "--driver none --members none --audit-log none";
    let printed = expect(0, format!("{LAB} reference {none} --json {json}"));
    assert!(!printed.contains("judged from the audit log"), "{printed}");
    let report = folder.json("report.json");
    for verdict in verdicts(&report) {
        let rule = rules::find(verdict["rule"].as_str().expect("an id")).expect("a rule");
        let needs = &rule.facts.needs;
        let is_skipped = verdict["verdict"] == "skipped";
        let needs_others = needs.contains(&Kind::Driver) || needs.contains(&Kind::Members);
        assert!(is_skipped || !needs_others, "{verdict}");
    }
    // A run that cannot show the driver's effects leaves it out by itself.
    expect(0, format!("{LAB} reference --observe 0s"));
    expect(0, format!("{LAB} reference -n lab-clusterset"));
}

#[test]
fn run_on_placements_requests_neither_secrets_nor_dry_runs() {
    let folder = Folder::new();
    let record = folder.flag("evidence.jsonl");
    let run = format!("{LAB} reference --observe 0s --role scheduler --record {record}");
    expect(0, run);
    let requested = &header_of(&folder.text("evidence.jsonl"))["requested"];
    for kind in ["secrets", "probe"] {
        let reason = "only rules on cluster managers need it";
        assert_contains(&requested[kind].to_string(), &[reason]);
    }
}

pub fn header_of(evidence: &str) -> Value {
    let first = evidence.lines().next().expect("a first line");
    let line: Value = serde_json::from_str(first).expect("JSON");
    line["header"].clone()
}

#[test]
fn failures_of_the_first_list_are_printed_once() {
    let folder = Folder::new();
    let waivers = folder.waivers(&[("access/no-secrets", "expires: 2999-01-01")]);
    let waived = format!("reference=access/no-secrets --observe 5m --waivers {waivers} identity/");
    let should_rule = "reference=version/well-formed --observe 5m --strict version/";
    let none = "no MUST rule fails; watching for 5m";
    let one = "1 MUST rule fails (access/no-secrets); watching for 5m";
    let two = "2 MUST rules fail (conditions/well-formed, access/no-secrets); watching for 1m 30s";
    let secrets = "reference=access/no-secrets";
    let two_faults = format!("{secrets},conditions/well-formed --observe 90s");
    for (code, line, expected) in [
        (0, "reference --observe 5m access/", Some(none)),
        (1, &format!("{secrets} --observe 5m access/"), Some(one)),
        (1, &two_faults, Some(two)),
        // A single snapshot.
        (1, &format!("{secrets} --observe 0s access/"), None),
        (0, &waived, Some(none)),
        (1, should_rule, Some(none)),
    ] {
        let printed = expect(code, format!("{LAB} {line} --driver none"));
        let lines = printed.lines();
        let lines = lines.filter_map(|line| line.strip_prefix("at first sight: "));
        assert_eq!(lines.collect::<Vec<_>>(), Vec::from_iter(expected), "{line}");
    }
}

const UNLABELED: &str = "run --hub lab --manager reference=identity/manager-label-present --driver none \
                         identity/manager-label-present --observe 1m";

#[test]
fn short_run_on_new_and_wrong_profiles_does_not_pass() {
    let folder = Folder::new();
    let [record, first, again] = ["evidence", "first.json", "again.json"].map(|name| folder.flag(name));
    let run = format!("{UNLABELED} --record {record} --json {first}");
    let settled = " s more for 1 profile to settle";
    expect_output(1, run, &["watched for 1m and ", settled]);
    let open = expect_output(3, format!("{UNLABELED} --settle 0s"), &["a violation at the end"]);
    assert!(!open.contains("to settle"), "{open}");
    // The evidence has what came after the window.
    let replay = format!("replay {record} identity/manager-label-present --json {again}");
    expect(1, replay);
    let (first, again) = (folder.json("first.json"), folder.json("again.json"));
    assert_eq!(first["settled"]["profiles"], 1);
    assert_eq!(first["settled"], again["settled"]);
    assert_eq!(first["verdicts"], again["verdicts"]);
}
