//! Reports of the binary: the files that it leaves, and hostile text on its streams.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    process::Stdio,
};

use evidence::{Digester, file, read_input};

use crate::{
    command::{Done, Folder, assert_contains, command, done},
    support::{
        agreement::in_all_ways,
        hostile::{HARMS, LONG, does_no_harm, evidence, harmful, is_annotations, long},
    },
};

/// Calls the command in a folder.
fn call(folder: &Folder, line: &str) -> Done {
    let summary = folder.path("summary.md");
    let mut command = command(line);
    done(
        command
            .current_dir(folder.path(""))
            .env("GITHUB_STEP_SUMMARY", summary),
    )
}

/// A folder with a dump.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("dump.yaml", include_str!("../cli/conforming.yaml"));
    folder
}

#[test]
fn a_full_disk_costs_one_report_and_is_reported() {
    let folder = folder();
    let outputs = "--markdown /dev/full --json report.json --junit /dev/full --badge badge.svg";
    let done = call(&folder, &format!("run --from dump.yaml {outputs}"));
    assert_eq!(done.code, Some(4), "{}", done.err);
    let parts = [
        "error: failed to write --markdown /dev/full: ",
        "error: failed to write --junit /dev/full: ",
        "No space left",
    ];
    assert_contains(&done.err, &parts);
    assert_contains(&done.out, &["no violation found: "]);
    for name in ["report.json", "badge.svg"] {
        assert!(folder.path(name).exists(), "{name}");
    }
}

#[test]
fn verdicts_that_cannot_be_printed_are_a_failure() {
    let folder = folder();
    let full = File::create("/dev/full").expect("a full disk");
    let mut run = command("run --json report.json --from dump.yaml");
    let run = run.current_dir(folder.path("")).stdout(full);
    let run = run.stderr(Stdio::piped()).spawn().expect("the command runs");
    let output = run.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{err}");
    assert_contains(&err, &["failed to write to standard output", "No space left"]);
    assert!(folder.path("report.json").exists());
}

#[test]
fn a_link_stays_a_link_even_to_a_file_that_does_not_exist_yet() {
    let folder = folder();
    fs::create_dir(folder.path("reports")).expect("created");
    symlink("reports/new.json", folder.path("latest.json")).expect("linked");
    let done = call(&folder, "run --from dump.yaml --json latest.json");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let link = fs::symlink_metadata(folder.path("latest.json")).expect("it is there");
    assert!(link.is_symlink());
    assert!(folder.text("reports/new.json").starts_with('{'));
}

#[test]
fn the_summary_of_a_step_is_appended_to_and_other_files_are_replaced() {
    let folder = folder();
    // The runner creates an empty one.
    folder.write("summary.md", "");
    let run = |path: &str| call(&folder, &format!("run --from dump.yaml --markdown {path}"));
    let done = run("summary.md");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let alone = folder.text("summary.md");
    assert!(alone.starts_with("## ⚪"), "{alone}");
    folder.write("summary.md", "# Earlier");
    run("./summary.md");
    assert_eq!(folder.text("summary.md"), format!("# Earlier\n\n{alone}"));
    folder.write("report.md", "of yesterday");
    run("report.md");
    assert_eq!(folder.text("report.md"), alone);
}

#[test]
fn all_formats_agree_on_faults() {
    let faults = "version/well-formed,access/no-secrets,conditions/not-flapping,updates/writes-within-burst";
    let folder = Folder::new();
    let run = format!("run --hub lab --manager reference={faults} --record evidence.jsonl");
    call(&folder, &run);
    let input = read_input(&folder.path("evidence.jsonl"), &Digester::new([7; 32]));
    in_all_ways(faults, &input.expect("evidence").evidence);
}

/// Both streams of the command, in every format.
#[test]
fn hostile_text_is_harmless_on_both_streams() {
    // A line of an evidence file is bounded, and the header repeats the texts many times.
    let long = long()[..LONG / 4].to_owned();
    let texts: Vec<String> = HARMS.iter().map(harmful).chain([long]).collect();
    let folder = Folder::new();
    let mut written = File::create(folder.path("evidence.jsonl")).expect("a file");
    file::write_to(&evidence(&texts), &mut written).expect("written");
    for format in ["pretty", "github"] {
        let Done { code, out, err } = call(&folder, &format!("replay evidence.jsonl --format {format}"));
        assert_eq!(code, Some(1), "{err}");
        let (annotations, rest): (Vec<&str>, Vec<&str>) =
            out.lines().partition(|line| line.starts_with("::"));
        if format == "github" {
            let text = annotations.join("\n");
            is_annotations(&text);
            assert!((3..=21).contains(&annotations.len()), "{annotations:?}");
            assert!(out.contains(&text), "another line is between annotations");
        } else {
            assert_eq!(annotations, [""; 0]);
        }
        // The decision is at the beginning of a line, and no text of the hub is.
        let decided = ["conformant with", "not conformant"];
        let is_decision = |line: &&str| decided.iter().any(|words| line.starts_with(words));
        let (decisions, rest): (Vec<&str>, Vec<&str>) = rest.into_iter().partition(is_decision);
        assert!(decisions.len() <= 1, "{decisions:?}");
        does_no_harm(format, &rest.join("\n"));
        does_no_harm("standard error", &err);
        assert!(
            out.len() < LONG && err.len() < LONG,
            "{format}: {} bytes",
            out.len()
        );
    }
}

/// Paths come from the author of a pull request.
#[test]
fn a_hostile_path_is_harmless_in_an_error() {
    for harm in HARMS {
        let path = harmful(harm).replace('\0', "");
        let done = done(command("run").args(["--from", &path]));
        assert_eq!(done.code, Some(2), "{path:?}: {}", done.err);
        does_no_harm("standard error", &done.err.replacen("error: ", "", 1));
    }
}
