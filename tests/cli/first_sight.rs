//! The line after the first list of a run.

use super::*;

const RUN: [&str; 5] = ["run", "--hub", "lab", "--driver", "none"];

/// The lines of a run that begin with `at first sight`.
fn lines(code: i32, arguments: &[&str]) -> Vec<String> {
    let printed = expect(code, &[&RUN[..], arguments].concat());
    let lines = printed
        .lines()
        .filter(|line| line.starts_with("at first sight: "));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_run_prints_once_what_fails_in_the_first_list() {
    assert_eq!(
        lines(0, &["--manager", "reference", "--observe", "5m", "access/"]),
        ["at first sight: no MUST rule fails; watching for 5m"]
    );
    let fault = "reference=access/no-secrets";
    assert_eq!(
        lines(1, &["--manager", fault, "--observe", "5m", "access/"]),
        ["at first sight: 1 MUST rule fails (access/no-secrets); watching for 5m"]
    );
    let faults = "reference=access/no-secrets,conditions/well-formed";
    assert_eq!(
        lines(1, &["--manager", faults, "--observe", "90s"]),
        [
            "at first sight: 2 MUST rules fail (conditions/well-formed, access/no-secrets); \
             watching for 1m 30s"
        ]
    );
}

#[test]
fn a_snapshot_has_no_first_sight() {
    let fault = "reference=access/no-secrets";
    let run = ["--manager", fault, "--observe", "0s", "access/"];
    assert_eq!(lines(1, &run), [""; 0]);
}

#[test]
fn a_waived_rule_does_not_fail_at_first_sight() {
    let folder = Folder::new();
    let waivers = folder.flag("waivers.yaml");
    fs::write(
        &waivers,
        "waivers:\n- rule: access/no-secrets\n  reason: known\n  link: https://issues.example/1\n  expires: 2099-01-01\n",
    )
    .expect("written");
    let fault = "reference=access/no-secrets";
    let run = [
        "--manager",
        fault,
        "--observe",
        "5m",
        "--waivers",
        &waivers,
        "identity/",
    ];
    assert_eq!(
        lines(0, &run),
        ["at first sight: no MUST rule fails; watching for 5m"]
    );
}

#[test]
fn a_should_rule_does_not_fail_at_first_sight() {
    let fault = "reference=version/well-formed";
    let run = ["--manager", fault, "--observe", "5m", "--strict", "version/"];
    assert_eq!(
        lines(1, &run),
        ["at first sight: no MUST rule fails; watching for 5m"]
    );
}
