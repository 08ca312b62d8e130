//! Bad usage: one message, and the code 2.

use super::*;

#[test]
fn names_that_are_none_are_errors_with_the_nearest() {
    refused(&["run", "--nonsense"], &["--nonsense"]);
    refused(
        &["run", "--driver", "x.yaml"],
        &["failed to read the driver file x.yaml"],
    );
    refused(&["run", "--edition", "standart"], &["did you mean `standard`?"]);
    refused(
        &["run", "--feature", "consumer-secret"],
        &["did you mean `consumer-secrets`?"],
    );
    refused(&["run", "--observe", "5"], &["30s, 5m or 1h30m"]);
    refused(
        &[
            "run",
            "--hub",
            "lab",
            "--manager",
            "reference=identity/manager-label-presnt",
        ],
        &["did you mean `identity/manager-label-present`?"],
    );
    for near in ["identity/manager-label-presnt", "manager-label-presnt"] {
        let nearest = &["did you mean `identity/manager-label-present`?"];
        refused(&["explain", near], nearest);
        refused(&["run", "--from", "conforming.yaml", "--exact", near], nearest);
        refused(&["run", "--from", "conforming.yaml", "--skip", near], nearest);
        refused(&["run", "--from", "conforming.yaml", near], nearest);
    }
    // What is a substring of many is no whole id.
    refused(
        &["run", "--from", "conforming.yaml", "--exact", "identity"],
        &["`identity` is a suite", "identity/manager-label-present"],
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    refused(
        &["run", "--from", "conforming.yaml", "--hub", "lab"],
        &["--from", "--hub"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--observe", "5m"],
        &["--from", "--observe"],
    );
    refused(
        &["run", "--manager", "reference"],
        &["add --hub lab, --hub envtest or --hub k3s"],
    );
    refused(&["run", "--hub", "lab"], &["--manager reference"]);
    refused(
        &["run", "--hub", "lab", "--manager", "reference", "--context", "x"],
        &["--context"],
    );
    refused(&["run", "--probe", "--no-probe"], &["--no-probe"]);
    refused(&["run", "--allow-mutations"], &["add --driver FILE"]);
    refused(
        &["run", "--driver", "reference"],
        &["add --hub lab --manager reference"],
    );
    refused(
        &["run", "--driver", "x.yaml", "--observe", "0s"],
        &["--observe 0s cannot see"],
    );
    let lab = ["run", "--hub", "lab", "--manager", "reference"];
    refused(
        &[&lab[..], &["--driver", "x.yaml"]].concat(),
        &["use --driver reference"],
    );
    refused(
        &["run", "--hub", "lab", "--manager", "reference", "--clean"],
        &["--clean"],
    );
    refused(
        &["run", "--clean", "--allow-mutations"],
        &["--clean", "--allow-mutations"],
    );
    let both = [
        "run",
        "--from",
        "conforming.yaml",
        "--feature",
        "consumer-secrets",
        "--no-feature",
        "consumer-secrets",
    ];
    refused(&both, &["contradicts"]);
    refused(
        &[
            "run",
            "--from",
            "conforming.yaml",
            "identity/",
            "--skip",
            "identity/",
        ],
        &["no rule is left"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "member-id-non-empty"],
        &[
            "edition standard has no rule like `member-id-non-empty`",
            "2026-09",
        ],
    );
}

#[test]
fn a_file_that_cannot_be_used_is_told_and_reported() {
    let folder = Folder::new();
    let junit = folder.flag("junit.xml");
    refused(
        &["run", "--from", "missing.yaml", "--junit", &junit],
        &["missing.yaml", "No such file"],
    );
    assert!(
        folder.text("junit.xml").contains("No such file"),
        "{}",
        folder.text("junit.xml")
    );
    fs::write(folder.path("empty.yaml"), "").expect("written");
    refused(&["run", "--from", &folder.flag("empty.yaml")], &["empty.yaml"]);
    fs::write(folder.path("broken.yaml"), "a: [").expect("written");
    refused(&["run", "--from", &folder.flag("broken.yaml")], &["broken.yaml"]);
    refused(&["replay", "missing.jsonl"], &["missing.jsonl"]);
}

#[test]
fn outputs_are_checked_before_anything_else() {
    let folder = Folder::new();
    let nowhere = folder.flag("no/such/report.xml");
    refused(
        &["run", "--from", "conforming.yaml", "--junit", &nowhere],
        &["--junit", "create the folder"],
    );
    refused(
        &["run", "--from", "conforming.yaml", "--json", &folder.flag("")],
        &["--json", "it is a folder"],
    );
    let twice = folder.flag("report");
    refused(
        &[
            "run",
            "--from",
            "conforming.yaml",
            "--json",
            &twice,
            "--junit",
            &twice,
        ],
        &["--junit and --json both name"],
    );
    let input = folder.flag("dump.yaml");
    fs::copy("tests/cli/conforming.yaml", &input).expect("copied");
    refused(
        &["run", "--from", &input, "--json", &input],
        &["is both an input and an output"],
    );
    fs::create_dir(folder.path("folder")).expect("created");
    let detour = folder.flag("folder/../report");
    let detour = ["run", "--from", &input, "--json", &twice, "--record", &detour];
    refused(&detour, &["--record and --json"]);
    fs::write(folder.path("audit.log"), "{}").expect("written");
    let log = folder.flag("audit.log");
    let log = ["run", "--from", &input, "--audit-log", &log, "--record", &log];
    refused(&log, &["is both an input and an output"]);
    assert!(!folder.path("report").exists());
}

#[test]
fn a_report_on_standard_output_stays_when_that_is_a_file() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("out")).expect("created");
    let mut run = command(&["run", "--from", "conforming.yaml", "--record", "/dev/stdout"]);
    assert!(run.stdout(file).status().expect("the command runs").success());
    let told = folder.text("out");
    assert!(
        told.starts_with("{\"header\":") && told.contains("\n{\"end\":{}}\n"),
        "{told}"
    );
    assert!(told.contains("\nno violation found: "), "{told}");
}
