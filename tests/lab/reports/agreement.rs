//! The reference manager's faults, told alike in all formats.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use evidence::{Digester, Evidence, read_input};

use crate::support::agreement::in_all_ways;

#[test]
fn faults_are_told_alike_in_all_formats() {
    for faults in [
        "identity/name-unique",
        "version/well-formed,access/no-secrets",
        "conditions/not-flapping,updates/writes-within-burst",
        "updates/no-dynamic-data",
    ] {
        in_all_ways(faults, &of_the_lab(faults));
    }
}

/// What is seen of the reference manager with these faults.
fn of_the_lab(faults: &str) -> Evidence {
    let folder = tempfile::tempdir().expect("a folder");
    let record: PathBuf = folder.path().join("evidence.jsonl");
    let done = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args(["run", "--hub", "lab", "--manager"])
        .arg(format!("reference={faults}"))
        .arg("--record")
        .arg(&record)
        .stdin(Stdio::null())
        .output();
    let done = done.expect("the command runs");
    assert!(record.exists(), "{}", String::from_utf8_lossy(&done.stderr));
    read_input(&record, &Digester::new([7; 32]))
        .expect("evidence")
        .evidence
}
