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
