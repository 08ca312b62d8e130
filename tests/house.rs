//! The house keeps its walls: which crate may depend on which, and what the pure ones must do without.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::Value;

/// Each member, and the members that it may depend on: what it does not name, its Cargo.toml must not name.
const ARROWS: [(&str, &[&str]); 9] = [
    ("in-process-apiserver", &[]),
    ("kube-envtest", &[]),
    ("clusterprofile-evidence", &[]),
    ("clusterprofile-judge", &["clusterprofile-evidence"]),
    ("clusterprofile-collect", &["clusterprofile-evidence"]),
    (
        "clusterprofile-report",
        &["clusterprofile-judge", "clusterprofile-evidence"],
    ),
    (
        "clusterprofile-browser",
        &[
            "clusterprofile-evidence",
            "clusterprofile-judge",
            "clusterprofile-report",
        ],
    ),
    (
        "clusterprofile-lab",
        &[
            "clusterprofile-collect",
            "clusterprofile-evidence",
            "in-process-apiserver",
            "kube-envtest",
        ],
    ),
    (
        "clusterprofile-conformance",
        &[
            "clusterprofile-collect",
            "clusterprofile-evidence",
            "clusterprofile-judge",
            "clusterprofile-lab",
            "clusterprofile-report",
        ],
    ),
];

/// Crates that reach a network, or need a runtime.
const IMPURE: [&str; 5] = ["kube", "kube-client", "hyper", "rustls", "tokio"];

/// What a `cargo` command prints.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The members that each member depends on outside of its tests.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let of = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        let normal = dependencies
            .iter()
            .filter(|one| one["kind"].as_str() != Some("dev"));
        normal.map(name).filter(|one| members.contains(one)).collect()
    };
    packages
        .iter()
        .map(|package| (name(package), of(package)))
        .collect()
}

#[test]
fn crates_depend_on_what_the_design_allows() {
    let allowed: BTreeMap<String, BTreeSet<String>> = ARROWS
        .map(|(from, to)| (from.to_owned(), to.iter().map(|&one| one.to_owned()).collect()))
        .into();
    assert_eq!(arrows(), allowed);
}

#[test]
fn evidence_and_judge_know_no_network() {
    for package in ["clusterprofile-evidence", "clusterprofile-judge"] {
        let tree = cargo(&[
            "tree",
            "--offline",
            "--package",
            package,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(names.contains("serde"), "{package}: {tree}");
        let impure: Vec<_> = IMPURE.into_iter().filter(|one| names.contains(one)).collect();
        assert_eq!(impure, Vec::<&str>::new(), "{package}");
    }
}

/// In a fork, too: it sets `repository`, and is told what else to change.
#[test]
fn vulnerabilities_are_reported_to_the_address_of_this_repository() {
    let page = include_str!("../SECURITY.md");
    let address = concat!("<", env!("CARGO_PKG_REPOSITORY"), "/security/advisories/new>");
    assert!(
        page.contains(address) || page.contains("<mailto:"),
        "SECURITY.md names another address than {address}"
    );
}

/// The walk through the code leads to what is there: each file has what the step names.
#[test]
fn the_walk_finds_its_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let walk = fs::read_to_string(root.join("docs/architecture.md")).expect("the walk");
    assert!(walk.lines().count() <= 120, "it is a walk, not a journey");
    let mut steps = 0;
    for quoted in walk.split('`').skip(1).step_by(2) {
        if quoted.starts_with("src/") {
            assert!(root.join(quoted).exists(), "{quoted}");
        }
    }
    for step in walk.split("`src/").skip(1) {
        let Some((path, rest)) = step.split_once("` › `") else {
            continue;
        };
        if path.contains('`') {
            continue;
        }
        let (name, _) = rest.split_once('`').expect("a name");
        let code = fs::read_to_string(root.join("src").join(path)).expect(path);
        let defined = ["fn ", "struct ", "enum ", "const "].map(|kind| format!("{kind}{name}"));
        assert!(
            defined.iter().any(|defined| code.contains(defined))
                || name.starts_with('"') && code.contains(name),
            "{path} has no {name}"
        );
        steps += 1;
    }
    assert!(steps >= 20, "{steps}");
}
