//! `--repeat`: several runs, one report.

use super::*;

const RUN: [&str; 7] = ["run", "--hub", "lab", "--observe", "30s", "--driver", "none"];

#[test]
fn runs_that_agree_are_one_report() {
    let folder = Folder::new();
    let (once, twice) = (folder.flag("once.json"), folder.flag("twice.json"));
    let record = folder.flag("evidence.jsonl");
    let run = [&RUN[..], &["--manager", "reference", "identity/"]].concat();
    expect(0, &[&run[..], &["--json", &once]].concat());
    let told = expect(
        0,
        &[
            &run[..],
            &["--repeat", "2", "--json", &twice, "--record", &record],
        ]
        .concat(),
    );
    assert!(told.contains("run 2 of 2"), "{told}");
    assert!(
        told.contains("each rule has the same verdict in 2 of 2 runs"),
        "{told}"
    );
    let (once, twice) = (folder.json("once.json"), folder.json("twice.json"));
    assert_eq!(once["decision"], twice["decision"]);
    let again = folder.flag("again.json");
    expect(0, &["replay", &record, "identity/", "--json", &again]);
    assert_eq!(folder.json("again.json")["verdicts"], twice["verdicts"]);
}

#[test]
fn what_is_broken_each_time_fails_the_whole() {
    let fault = "reference=identity/manager-label-present";
    let told = expect(
        1,
        &[
            &RUN[..],
            &[
                "--manager",
                fault,
                "identity/manager-label-present",
                "--repeat",
                "2",
            ],
        ]
        .concat(),
    );
    assert!(
        told.contains("each rule has the same verdict in 2 of 2 runs"),
        "{told}"
    );
}

#[test]
fn a_rule_that_changes_its_verdict_is_named() {
    let folder = Folder::new();
    let (json, record) = (folder.flag("report.json"), folder.flag("evidence.jsonl"));
    let (rule, fault) = (
        "identity/manager-label-present",
        "reference=identity/manager-label-present:every-other-run",
    );
    let run = [
        &RUN[..],
        &[
            "--manager",
            fault,
            "identity/",
            "--json",
            &json,
            "--record",
            &record,
        ],
    ]
    .concat();
    let told = expect(1, &[&run[..], &["--repeat", "3"]].concat());
    let how = "fail in 1 of 3 runs (2), pass in 2 (1, 3)";
    assert!(
        told.contains(&format!("{rule} changes its verdict: {how}")),
        "{told}"
    );
    let report = folder.json("report.json");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    let verdict = verdicts.iter().find(|verdict| verdict["rule"] == rule);
    let verdict = verdict.expect("it is judged");
    assert_eq!(verdict["verdict"], "fail");
    assert_eq!(verdict["notes"], serde_json::json!([how]));
    // The evidence is that of the run that decides.
    expect(1, &["replay", &record, rule]);
}

#[test]
fn what_cannot_be_repeated_is_bad_usage() {
    let run = [&RUN[..], &["--manager", "reference"]].concat();
    refused(&[&run[..], &["--repeat", "0"]].concat(), &["--repeat"]);
    refused(
        &[&run[..], &["--repeat", "2", "--report", "report.yaml"]].concat(),
        &["--report", "--repeat"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--repeat", "2"],
        &["--repeat"],
    );
}
