//! Runs on the lab.

use super::*;

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
            "properties/",
            "version/",
        ])
        .err
    };
    let hidden = together("version/well-formed,version/reported");
    assert!(!hidden.contains("does not show"), "{hidden}");
    let hidden = together("properties/cluster-properties-propagated,properties/cluster-properties-verbatim");
    let told = "fault properties/cluster-properties-verbatim does not show";
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
            fault.split(':').next().unwrap_or(fault),
        ];
        expect(code, &[&run[..], more].concat())
    };
    let note = |fault: &str| format!("note: fault {fault} only warns: ");
    let hint = "clustersets/namespace-labelled:declared";
    let text = told(0, hint, &[]);
    assert!(
        text.contains(&(note(hint) + "the finding is a warning")),
        "{text}"
    );
    let should = "version/matches-member";
    let text = told(0, should, &[]);
    let why = "its rule is a SHOULD";
    assert!(text.contains(&(note(should) + why)), "{text}");
    assert!(!told(1, should, &["--strict"]).contains("only warns"));
    assert!(!told(1, "identity/manager-label-matches", &[]).contains("only warns"));
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
        // Needs `--expect-profiles`.
        "identity/expected-profiles" => "skipped",
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
    expect(0, &[&lab[..], &["--observe", "0s"]].concat());
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
