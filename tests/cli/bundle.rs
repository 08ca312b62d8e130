//! `--bundle`: a run in one archive, which whoever receives it judges again.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use tar::Archive;

use super::{Folder, call, command, done, expect, refused};

const LAB: [&str; 5] = [
    "run",
    "--hub",
    "lab",
    "--manager",
    "reference=identity/manager-label-matches",
];

/// Unpacks an archive, and gives back the folder in it.
fn unpacked(folder: &Folder, archive: &str) -> PathBuf {
    let packed = fs::File::open(folder.path(archive)).expect("the bundle");
    let into = folder.path("unpacked");
    Archive::new(GzDecoder::new(packed))
        .unpack(&into)
        .expect("an archive");
    into.join("conformance-bundle")
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (
            name,
            String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned(),
        )
    });
    entries.collect()
}

/// The commands that its README tells, each with how it ends.
fn told_commands(folder: &Path) -> Vec<(String, Option<i32>)> {
    let readme = fs::read_to_string(folder.join("README.md")).expect("a README");
    let lines = readme
        .lines()
        .filter_map(|line| line.strip_prefix("    clusterprofile-conformance "));
    let ends = lines.map(|line| {
        let arguments: Vec<&str> = line.split(' ').collect();
        let done = done(command(&arguments).current_dir(folder));
        (arguments[0].to_owned(), done.code)
    });
    ends.collect()
}

#[test]
fn who_receives_a_bundle_judges_it_again_by_the_command_in_it() {
    let folder = Folder::new();
    let bundle = folder.flag("bundle.tgz");
    let json = folder.flag("report.json");
    expect(1, &[&LAB[..], &["--bundle", &bundle, "--json", &json]].concat());
    let unpacked = unpacked(&folder, "bundle.tgz");
    let files = files(&unpacked);
    let names: Vec<&str> = files.keys().map(|name| &**name).collect();
    assert_eq!(
        names,
        [
            "README.md",
            "evidence.jsonl.zst",
            "report.html",
            "report.json",
            "report.md",
            "report.yaml"
        ]
    );
    let readme = &files["README.md"];
    assert!(
        readme.contains("not conformant") && readme.contains("+lab"),
        "{readme}"
    );
    assert_eq!(
        told_commands(&unpacked),
        [("report".to_owned(), Some(0)), ("replay".to_owned(), Some(1))],
        "{readme}"
    );
    let own: serde_json::Value = serde_json::from_str(&files["report.json"]).expect("JSON");
    assert_eq!(own["verdicts"], folder.json("report.json")["verdicts"]);
    assert_eq!(own["evidence"]["file"], "evidence.jsonl.zst");
    // A finding on a profile of the lab has its story, from the collector.
    let mut findings = own["verdicts"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|verdict| verdict["findings"].as_array().into_iter().flatten());
    let story = findings.find_map(|finding| finding["story"]["events"].as_array());
    let events = story.expect("a story");
    assert!(
        events
            .iter()
            .all(|event| event["at"].is_string() || event["what"] == "left-out"),
        "{events:#?}"
    );
    assert!(
        events.iter().any(|event| event["by"][0].is_string()),
        "{events:#?}"
    );
}

#[test]
fn a_bundle_of_picked_rules_tells_which() {
    let folder = Folder::new();
    let bundle = folder.flag("bundle.tgz");
    let picked = ["identity/", "--skip", "manager-unique", "--bundle", &bundle];
    expect(1, &[&["run", "--from", "violating.yaml"][..], &picked].concat());
    let unpacked = unpacked(&folder, "bundle.tgz");
    let readme = fs::read_to_string(unpacked.join("README.md")).expect("a README");
    assert!(
        readme.contains("replay evidence.jsonl.zst identity/ --skip manager-unique\n"),
        "{readme}"
    );
    let ends: Vec<_> = told_commands(&unpacked)
        .into_iter()
        .map(|(_, code)| code)
        .collect();
    assert_eq!(ends, [Some(0), Some(1)], "{readme}");
}

#[test]
fn a_bundle_of_two_roles_is_replayed() {
    let folder = Folder::new();
    let bundle = folder.flag("bundle.tgz");
    let roles = [
        "--role",
        "manager,scheduler",
        "--driver",
        "none",
        "--bundle",
        &bundle,
    ];
    let run = call(&[&LAB[..], &roles].concat());
    let unpacked = unpacked(&folder, "bundle.tgz");
    assert!(!unpacked.join("report.yaml").exists());
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert_eq!(told_commands(&unpacked), [("replay".to_owned(), Some(1))]);
}

#[test]
fn a_bundle_is_an_output_like_others() {
    let folder = Folder::new();
    let evidence = folder.flag("evidence.jsonl.zst");
    expect(1, &["run", "--from", "violating.yaml", "--record", &evidence]);
    refused(
        &["replay", &evidence, "--bundle", &evidence],
        &["is both an input and an output"],
    );
    refused(
        &[
            "run",
            "--from",
            "violating.yaml",
            "--bundle",
            &folder.flag("missing/bundle.tgz"),
        ],
        &["failed to prepare --bundle", "create the folder"],
    );
    let same = folder.flag("same");
    refused(
        &[
            "run",
            "--from",
            "violating.yaml",
            "--bundle",
            &same,
            "--json",
            &same,
        ],
        &["both name", "give each a file of its own"],
    );
    // Without evidence, it says why.
    let bundle = folder.flag("bundle.tgz");
    expect(2, &["run", "--from", "cli.rs.missing", "--bundle", &bundle]);
    let unpacked = unpacked(&folder, "bundle.tgz");
    let report = fs::read_to_string(unpacked.join("report.md")).expect("a report");
    assert!(report.contains("cli.rs.missing"), "{report}");
}
