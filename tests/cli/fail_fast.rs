//! `--fail-fast`: a run that ends on the first broken MUST rule.

use super::*;

const RUN: [&str; 7] = ["run", "--hub", "lab", "--observe", "5m", "--driver", "none"];
const FAULT: &str = "reference=identity/manager-label-matches";

/// The seconds that a run watched, by its JSON report.
fn watched(report: &Value) -> i64 {
    let time = |key: &str| {
        let text = report["window"][key].as_str().expect("a time");
        text.parse::<jiff::Timestamp>().expect("a time")
    };
    time("until").duration_since(time("from")).as_secs()
}

#[test]
fn a_run_ends_on_the_first_violation_and_reports_it() {
    let folder = Folder::new();
    let (json, record) = (folder.flag("report.json"), folder.flag("evidence.jsonl"));
    let files = ["--json", &json, "--record", &record];
    let run = [&RUN[..], &["--manager", FAULT, "--fail-fast"], &files].concat();
    let told = expect(1, &run);
    let rule = "identity/manager-label-matches";
    assert!(
        told.contains(&format!("it ended on the first broken MUST rule, {rule}")),
        "{told}"
    );
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "not-conformant");
    assert!((130..190).contains(&watched(&report)), "{}", report["window"]);
    let again = expect(1, &["replay", &record]);
    assert!(again.contains(rule), "{again}");
}

#[test]
fn a_run_without_violations_takes_its_time() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let run = [
        &RUN[..],
        &[
            "--manager",
            "reference",
            "--fail-fast",
            "--json",
            &json,
            "identity/",
        ],
    ]
    .concat();
    expect(0, &run);
    assert_eq!(watched(&folder.json("report.json")), 300);
}

#[test]
fn a_violation_that_is_waived_ends_nothing() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let waivers = folder.flag("waivers.yaml");
    fs::write(
        &waivers,
        "waivers:\n- rule: identity/manager-label-matches\n  reason: known\n  link: https://issues.example/1\n  expires: 2099-01-01\n",
    )
    .expect("written");
    let run = [
        &RUN[..],
        &["--manager", FAULT, "--fail-fast", "--json", &json, "identity/"],
    ]
    .concat();
    expect(0, &[&run[..], &["--waivers", &waivers]].concat());
    assert_eq!(watched(&folder.json("report.json")), 300);
}
