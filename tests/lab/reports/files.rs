//! Where reports cannot be written, or not in the usual way: nothing is lost silently.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// Judges a dump, in a folder that holds it; gives the code and what standard error says.
fn call(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let dump = Path::new(crate::ROOT).join("tests/cli/conforming.yaml");
    fs::copy(dump, folder.path().join("dump.yaml")).expect("copied");
    let summary = folder.path().join("summary.md");
    let done = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args(["run", "--from", "dump.yaml"])
        .args(arguments)
        .current_dir(folder.path())
        .env("GITHUB_STEP_SUMMARY", summary)
        .stdin(Stdio::null())
        .output()
        .expect("the command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_full_disk_costs_one_report_and_is_told() {
    let folder = folder();
    let every = [
        "--markdown",
        "/dev/full",
        "--json",
        "report.json",
        "--junit",
        "/dev/full",
        "--badge",
        "badge.svg",
    ];
    let (code, out, err) = call(&folder, &every);
    assert_eq!(code, Some(4), "{err}");
    for told in [
        "error: failed to write --markdown /dev/full: ",
        "error: failed to write --junit /dev/full: ",
        "No space left",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
    assert!(out.contains("no violation found: "), "{out}");
    for left in ["report.json", "badge.svg"] {
        assert!(folder.path().join(left).exists(), "{left}");
    }
}

#[test]
fn verdicts_that_cannot_be_printed_are_no_success() {
    let folder = folder();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a full disk");
    let path = Path::new(crate::ROOT).join("tests/cli/conforming.yaml");
    let done = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args(["run", "--json", "report.json", "--from"])
        .arg(path)
        .current_dir(folder.path())
        .stdout(full)
        .output()
        .expect("the command runs");
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{err}");
    assert!(
        err.contains("failed to write to standard output") && err.contains("No space left"),
        "{err}"
    );
    assert!(folder.path().join("report.json").exists());
}

#[test]
fn what_cannot_be_written_is_told_before_the_run() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("folder")).expect("created");
    symlink("gone/report.json", at("nowhere")).expect("linked");
    symlink("loop", at("loop")).expect("linked");
    symlink("dump.yaml", at("input")).expect("linked");
    for (arguments, told) in [
        (["--json", "none/report.json"], "create the folder none first"),
        (["--junit", "folder"], "it is a folder: name a file in it"),
        (
            ["--junit", "nowhere"],
            "it is a link into a missing folder: fix it",
        ),
        (["--badge", "loop"], "choose another path"),
        (["--markdown", "input"], "is both an input and an output"),
        (["--json", "dump.yaml/report.json"], "choose another path"),
    ] {
        let (code, out, err) = call(&folder, &arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(told) && err.contains(arguments[1]), "{told}: {err}");
    }
    let names: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names.len(), 5, "nothing is left behind: {names:?}");
}

#[test]
fn a_link_stays_one_even_where_it_leads_to_nothing_yet() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("reports")).expect("created");
    symlink("reports/new.json", at("latest.json")).expect("linked");
    let (code, _, err) = call(&folder, &["--json", "latest.json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        fs::symlink_metadata(at("latest.json"))
            .expect("it is there")
            .is_symlink()
    );
    assert!(
        fs::read_to_string(at("reports/new.json"))
            .expect("a report")
            .starts_with('{')
    );
}

#[test]
fn the_summary_of_a_step_is_added_to_and_other_files_are_replaced() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    // The runner makes it, empty.
    fs::write(at("summary.md"), "").expect("written");
    let (code, _, err) = call(&folder, &["--markdown", "summary.md"]);
    assert_eq!(code, Some(0), "{err}");
    let alone = fs::read_to_string(at("summary.md")).expect("a summary");
    assert!(alone.starts_with("## ⚪"), "{alone}");

    fs::write(at("summary.md"), "# What came before").expect("written");
    call(&folder, &["--markdown", "./summary.md"]);
    let told = fs::read_to_string(at("summary.md")).expect("a summary");
    assert_eq!(told, format!("# What came before\n\n{alone}"));

    fs::write(at("report.md"), "of yesterday").expect("written");
    call(&folder, &["--markdown", "report.md"]);
    assert_eq!(fs::read_to_string(at("report.md")).expect("a report"), alone);
}
