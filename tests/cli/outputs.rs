//! The files that the command writes, and its streams.

use std::{fs::File, os::unix::fs::symlink};

use evidence::file;

use super::{command::Done, *};
use crate::hostile::{HARMS, LONG, does_no_harm, evidence, harmful, is_annotations, long};

fn call_in(folder: &Folder, line: &str) -> Done {
    let mut command = command(line);
    command.current_dir(folder.path(""));
    done(command.env("GITHUB_STEP_SUMMARY", folder.path("summary.md")))
}

fn folder_with_dump() -> Folder {
    let folder = Folder::new();
    folder.write("dump.yaml", include_str!("conforming.yaml"));
    folder
}

/// Flags of a run in a folder with a dump, `folder`, and links, and parts of the message.
const UNUSABLE_OUTPUTS: &str = "
--json none/report.json | --json | none/report.json | create the folder none first
--junit folder | it is a folder: name a file in it
--junit broken | it is a link into a missing folder: fix it
--badge loop | loop | choose another path
--json dump.yaml/report.json | dump.yaml/report.json | choose another path
--markdown input | input | is both an input and an output
--json dump.yaml | dump.yaml | is both an input and an output
--audit-log audit.log --record audit.log | audit.log | is both an input and an output
--json report --junit report | --junit and --json both name report
--json report --record folder/../report | --record and --json | report
";

#[test]
fn outputs_are_checked_before_anything_else() {
    let folder = folder_with_dump();
    folder.write("audit.log", "{}");
    fs::create_dir(folder.path("folder")).expect("created");
    for (link, target) in [
        ("broken", "gone/report.json"),
        ("loop", "loop"),
        ("input", "dump.yaml"),
    ] {
        symlink(target, folder.path(link)).expect("linked");
    }
    for row in table(UNUSABLE_OUTPUTS) {
        let done = call_in(&folder, &format!("run --from dump.yaml {}", row[0]));
        assert_eq!((done.code, &*done.out), (Some(2), ""), "{}: {}", row[0], done.err);
        assert_contains(&done.err, &row[1..]);
    }
    let files = fs::read_dir(folder.path("")).expect("the folder");
    assert_eq!(files.count(), 6, "a file is left");
}

#[test]
fn unreadable_input_replaces_an_earlier_report() {
    let folder = Folder::new();
    let junit = folder.write("junit.xml", "<old/>");
    let run = format!("run --from missing.yaml --junit {junit}");
    refused(run, &["missing.yaml", "No such file"]);
    assert_contains(&folder.text("junit.xml"), &["<testsuites", "No such file"]);
}

/// A file on standard output stays.
#[test]
fn evidence_may_go_to_standard_output() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("out")).expect("created");
    let mut run = command("run --from conforming.yaml --record /dev/stdout");
    assert!(run.stdout(file).status().expect("the command runs").success());
    let printed = folder.text("out");
    assert!(printed.starts_with("{\"header\":"), "{printed}");
    assert_contains(&printed, &["\n{\"end\":{}}\n", "\nno violation found: "]);
}

#[test]
fn broken_pipe_exits_zero() {
    let folder = Folder::new();
    let json = folder.flag("report.json");
    let mut run = command(format!("run --from conforming.yaml --json {json}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(run.stdout.take());
    let done = run.wait_with_output().expect("it ends");
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]));
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
}

#[test]
fn full_disk_is_reported_and_other_reports_are_written() {
    let folder = folder_with_dump();
    let outputs = "--markdown /dev/full --json report.json --junit /dev/full --badge badge.svg";
    let done = call_in(&folder, &format!("run --from dump.yaml {outputs}"));
    assert_eq!(done.code, Some(4), "{}", done.err);
    let failures = ["--markdown", "--junit"].map(|flag| format!("failed to write {flag} /dev/full: "));
    let parts = [&*failures[0], &failures[1], "No space left"];
    assert_contains(&done.err, &parts);
    assert_contains(&done.out, &["no violation found: "]);
    for name in ["report.json", "badge.svg"] {
        assert!(folder.path(name).exists(), "{name}");
    }
}

#[test]
fn verdicts_that_cannot_be_printed_are_a_failure() {
    let folder = folder_with_dump();
    let full = File::create("/dev/full").expect("a full disk");
    let mut run = command("run --json report.json --junit /dev/full --from dump.yaml");
    let run = run.current_dir(folder.path("")).stdout(full);
    let run = run.stderr(Stdio::piped()).spawn().expect("the command runs");
    let output = run.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{err}");
    // Neither failure hides the other.
    let failures = [
        "failed to write to standard output",
        "failed to write --junit /dev/full: ",
    ];
    assert_contains(&err, &failures);
    assert_contains(&err, &["No space left"]);
    assert!(folder.path("report.json").exists());
}

#[test]
fn link_to_a_missing_file_stays_a_link() {
    let folder = folder_with_dump();
    fs::create_dir(folder.path("reports")).expect("created");
    symlink("reports/new.json", folder.path("latest.json")).expect("linked");
    let done = call_in(&folder, "run --from dump.yaml --json latest.json");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let link = fs::symlink_metadata(folder.path("latest.json")).expect("it is there");
    assert!(link.is_symlink());
    assert!(folder.text("reports/new.json").starts_with('{'));
}

#[test]
fn step_summary_is_appended_to_and_other_files_are_replaced() {
    let folder = folder_with_dump();
    // The runner creates an empty one.
    folder.write("summary.md", "");
    let run = |path: &str| call_in(&folder, &format!("run --from dump.yaml --markdown {path}"));
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
    call_in(&folder, "run --from dump.yaml --json summary.md");
    assert!(
        folder.text("summary.md").starts_with('{'),
        "only Markdown is appended"
    );
}

#[test]
fn hostile_text_is_harmless_on_both_streams() {
    // A line of an evidence file is bounded, and the header repeats the texts many times.
    let long = long()[..LONG / 4].to_owned();
    let texts: Vec<String> = HARMS.iter().map(harmful).chain([long]).collect();
    let folder = Folder::new();
    let mut written = File::create(folder.path("evidence.jsonl")).expect("a file");
    file::write_to(&evidence(&texts), &mut written).expect("written");
    for format in ["pretty", "github"] {
        let Done { code, out, err } = call_in(&folder, &format!("replay evidence.jsonl --format {format}"));
        assert_eq!(code, Some(1), "{err}");
        let is_annotation = |line: &&str| line.starts_with("::");
        let (annotations, rest): (Vec<&str>, Vec<&str>) = out.lines().partition(is_annotation);
        if format == "github" {
            let text = annotations.join("\n");
            is_annotations(&text);
            assert!((3..=21).contains(&annotations.len()), "{annotations:?}");
            assert!(out.contains(&text), "another line is between annotations");
        } else {
            assert_eq!(annotations, [""; 0]);
        }
        // The decision is at the beginning of a line, and no text of the hub is.
        let starts = ["conformant with", "not conformant"];
        let is_decision = |line: &&str| starts.iter().any(|start| line.starts_with(start));
        let (decisions, rest): (Vec<&str>, Vec<&str>) = rest.into_iter().partition(is_decision);
        assert!(decisions.len() <= 1, "{decisions:?}");
        does_no_harm(format, &rest.join("\n"));
        does_no_harm("standard error", &err);
        let length = out.len().max(err.len());
        assert!(length < LONG, "{format}: {length} bytes");
    }
}

/// Paths come from the author of a pull request.
#[test]
fn hostile_path_is_harmless_in_an_error() {
    for text in ["\n::error::", "\r::warning::", "\u{1b}[31m", "\u{202e}", "\u{7}"] {
        let path = format!("a{text}b");
        let done = done(command("run").args(["--from", &path]));
        assert_eq!(done.code, Some(2), "{path:?}: {}", done.err);
        let harms = |char: char| char.is_control() || char == '\u{202e}';
        for line in done.err.lines() {
            assert!(!line.chars().any(harms) && !line.starts_with("::"), "{line:?}");
        }
    }
}
