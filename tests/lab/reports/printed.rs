//! Hostile text on standard output and standard error.

use std::{
    fs::File,
    process::{Command, Stdio},
};

use evidence::file;

use crate::support::hostile::{HARMS, LONG, does_no_harm, evidence, harmful, is_annotations, long};

/// Both streams of the command, in every way to print.
#[test]
fn what_is_printed_is_harmless_too() {
    // A line of an evidence file is bounded, and the header repeats the texts many times.
    let long = long()[..LONG / 4].to_owned();
    let texts: Vec<String> = HARMS.iter().map(harmful).chain([long]).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evidence.jsonl");
    let mut written = File::create(&path).expect("a file");
    file::write_to(&evidence(&texts), &mut written).expect("written");
    for printed in ["pretty", "terse", "json", "github"] {
        let done = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
            .args(["replay", "evidence.jsonl", "--format", printed])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the command runs");
        let out = String::from_utf8(done.stdout).expect("UTF-8");
        let err = String::from_utf8(done.stderr).expect("UTF-8");
        assert_eq!(done.status.code(), Some(1), "{err}");
        let is_ours = |line: &&str| line.starts_with("::");
        let annotations: Vec<&str> = out.lines().filter(is_ours).collect();
        match printed {
            "github" => {
                is_annotations(&annotations.join("\n"));
                assert!(
                    annotations.len() > 2 && annotations.len() <= 21,
                    "{}",
                    annotations.len()
                );
                // They stand together.
                assert!(out.contains(&annotations.join("\n")));
            }
            _ => assert_eq!(annotations, [""; 0]),
        }
        let rest: Vec<&str> = out.lines().filter(|line| !is_ours(line)).collect();
        // The decision is ours, and says so at the beginning of a line.
        let decided = ["conformant with", "not conformant"];
        let (decision, rest): (Vec<&str>, Vec<&str>) = rest
            .into_iter()
            .partition(|line| decided.iter().any(|d| line.starts_with(d)));
        assert!(decision.len() <= 1, "{decision:?}");
        does_no_harm(printed, &rest.join("\n"));
        does_no_harm("standard error", &err);
        assert!(
            out.len() < LONG && err.len() < LONG,
            "{printed}: {} bytes",
            out.len()
        );
        if printed == "json" {
            for line in out.lines() {
                serde_json::from_str::<serde_json::Value>(line)
                    .unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }
}
