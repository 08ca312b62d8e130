//! The end of the window: `--settle`.

use super::*;

const RULE: &str = "identity/manager-label-present";
const BROKEN: [&str; 7] = [
    "run",
    "--hub",
    "lab",
    "--manager",
    "reference=identity/manager-label-present",
    // A driver takes longer than a minute.
    "--driver",
    "none",
];

/// A run of a minute over new and wrongly labelled profiles.
fn minute(code: i32, more: &[&str]) -> String {
    expect(code, &[&BROKEN[..], &[RULE, "--observe", "1m"], more].concat())
}

#[test]
fn a_short_run_over_new_and_wrong_profiles_does_not_pass() {
    let failed = minute(1, &[]);
    assert!(failed.contains("watched for 1m and "), "{failed}");
    assert!(failed.contains(" s more for 1 profile to settle"), "{failed}");
    let open = minute(3, &["--settle", "0s"]);
    assert!(open.contains("a fault that was there at the end"), "{open}");
    assert!(!open.contains("to settle"), "{open}");
}

#[test]
fn a_record_tells_what_came_after_the_window() {
    let folder = Folder::new();
    let record = folder.flag("evidence.jsonl");
    let first = folder.flag("first.json");
    minute(1, &["--record", &record, "--json", &first]);
    let again = folder.flag("again.json");
    expect(1, &["replay", &record, RULE, "--json", &again]);
    let (first, again) = (folder.json("first.json"), folder.json("again.json"));
    assert_eq!(first["settled"]["profiles"], 1);
    assert_eq!(first["settled"], again["settled"]);
    assert_eq!(first["verdicts"], again["verdicts"]);
}

#[test]
fn a_wait_that_cannot_be_is_bad_usage() {
    let run = ["run", "--hub", "lab", "--manager", "reference"];
    refused(&[&run[..], &["--settle", "131s"]].concat(), &["at most 130s"]);
    refused(
        &["run", "--from", "conforming.yaml", "--settle", "1s"],
        &["--settle"],
    );
}
