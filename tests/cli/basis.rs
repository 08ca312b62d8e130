//! `--basis explicit`: only rules whose demand the documents state with a keyword.

use super::*;

/// The ids of the rules with that verdict.
fn with_verdict(report: &Value, verdict: &str) -> Vec<String> {
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    let with = verdicts.filter(|of_rule| of_rule["verdict"] == verdict);
    with.map(|of_rule| of_rule["rule"].as_str().expect("an id").to_owned())
        .collect()
}

fn is_explicit(id: &str) -> bool {
    let rule = rules::find(id).expect("a known rule");
    let applies = rule.facts.in_edition(Edition::Standard);
    applies.expect("a rule of the edition").basis == Basis::Explicit
}

#[test]
fn only_explicit_rules_are_judged_and_the_report_says_so() {
    let folder = Folder::new();
    let (json, yaml, record) = (
        folder.flag("r.json"),
        folder.flag("r.yaml"),
        folder.flag("e.jsonl"),
    );
    let explicit = ["--basis", "explicit", "--json", &json];
    let run = [
        "run",
        "--from",
        "violating.yaml",
        "--report",
        &yaml,
        "--record",
        &record,
    ];
    let told = expect(1, &[&run[..], &explicit].concat());
    assert!(told.contains("were not selected"), "{told}");
    let report = folder.json("r.json");
    let failed = with_verdict(&report, "fail");
    assert!(failed.iter().all(|id| is_explicit(id)), "{failed:?}");
    for of_rule in report["verdicts"].as_array().expect("verdicts") {
        let id = of_rule["rule"].as_str().expect("an id");
        let is_deselected = of_rule["reason"] == "deselected: its basis is derived";
        assert_eq!(is_deselected, !is_explicit(id), "{of_rule}");
    }

    let submitted: Value = serde_saphyr::from_str(&folder.text("r.yaml")).expect("YAML");
    assert_eq!(submitted["scope"]["selection"]["basis"], "explicit");
    let verify = ["report", "verify", &yaml, &record];
    assert!(expect(0, &verify).contains("the evidence reproduces this report"));
    let without = folder.text("r.yaml").replacen("    basis: explicit\n", "", 1);
    fs::write(folder.path("r.yaml"), without).expect("written");
    assert!(expect(1, &verify).contains("does not reproduce"));

    expect(1, &[&["replay", &record][..], &explicit].concat());
    assert_eq!(with_verdict(&folder.json("r.json"), "fail"), failed);
}

#[test]
fn the_configuration_has_the_key_too() {
    let folder = Folder::new();
    let (config, json) = (folder.flag("conformance.yaml"), folder.flag("r.json"));
    let text = "apiVersion: conformance.clusterprofile/v1\nkind: Configuration\nbasis: explicit\n";
    fs::write(&config, text).expect("written");
    let run = [
        "run",
        "--from",
        "violating.yaml",
        "--config",
        &config,
        "--json",
        &json,
    ];
    expect(1, &run);
    assert!(
        with_verdict(&folder.json("r.json"), "fail")
            .iter()
            .all(|id| is_explicit(id))
    );
    refused(
        &["run", "--from", "violating.yaml", "--basis", "derived"],
        &["--basis", "explicit"],
    );
}
