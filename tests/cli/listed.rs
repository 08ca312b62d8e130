//! The rules and what others install, printed.

use super::*;

#[test]
fn the_list_can_be_short_or_for_machines() {
    let filter = [
        "run",
        "--from",
        "conforming.yaml",
        "--exact",
        "identity/manager-label-present",
    ];
    let line = "[MUST explicit]   identity/manager-label-present ... ok\n";
    assert!(!expect(0, &filter).contains(line));
    let told = expect(0, &[&filter[..], &["-v"]].concat());
    assert!(told.starts_with(line), "{told}");
    let told = expect(0, &[&filter[..], &["--format", "terse"]].concat());
    assert!(told.starts_with(".\n"), "{told}");
    let done = call(&[&filter[..], &["--format", "json"]].concat());
    assert_eq!(done.code, Some(0));
    for line in done.out.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(done.err.contains("no violation found: 1 of "), "{}", done.err);
}

#[test]
fn a_reader_who_has_read_enough_is_no_reason_to_fail() {
    let folder = Folder::new();
    let mut run = command(&[
        "run",
        "--from",
        "conforming.yaml",
        "--json",
        &folder.flag("report.json"),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command runs");
    drop(run.stdout.take());
    let done = run.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert_eq!(folder.json("report.json")["decision"], "no-violation");
}

#[test]
fn rules_are_listed_and_explained() {
    let table = expect(0, &["list"]);
    assert!(
        table.contains("MUST    explicit  identity/manager-label-present\n"),
        "{table}"
    );
    assert!(!table.contains("identity/member-id-non-empty"), "{table}");
    let other = expect(0, &["list", "--edition", "2026-09"]);
    assert!(
        other.contains("MUST    explicit  identity/member-id-non-empty\n"),
        "{other}"
    );
    let json: Value = serde_json::from_str(&expect(0, &["list", "--format", "json"])).expect("JSON");
    assert_eq!(json[0]["rule"], "identity/manager-label-present");
    assert_eq!(json[0]["level"], "MUST");
    let of_edition = |edition: &str| expect(0, &["list", "--format", "markdown", "--edition", edition]);
    assert!(!of_edition("standard").contains("`identity/member-id-set`"));
    assert!(of_edition("2026-09").contains("| `identity/member-id-set` | SHOULD | explicit | 2026-09 |"));
    let told = expect(0, &["explain", "identity/manager-label-present"]);
    for part in [
        "[MUST explicit] identity/manager-label-present",
        "KEP-4322",
        "remedy",
        "passes:",
        "fails:",
        "and a report says",
        "observed",
    ] {
        assert!(told.contains(part), "{part} is not in: {told}");
    }
}

#[test]
fn the_rules_in_the_documents_are_those_that_are_listed() {
    let listed = expect(0, &["list", "--format", "markdown"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &listed).expect("written");
    }
    let written = fs::read_to_string(&path).expect("the document is there");
    assert!(
        written == listed,
        "docs/rules.md is out of date: renew it with `just rules`"
    );
}

#[test]
fn what_others_install_is_printed() {
    let crds = expect(0, &["crd"]);
    for file in [
        "clusterprofiles.multicluster.x-k8s.io",
        "placementdecisions.multicluster.x-k8s.io",
        "clusterproperties.about.k8s.io",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/lab/crds")
            .join(format!("{file}.yaml"));
        let fixture = fs::read_to_string(path).expect("the fixture is there");
        assert!(
            crds.contains(fixture.trim_start_matches("---\n").trim_end()),
            "{file}"
        );
    }
    let role = expect(0, &["rbac"]);
    assert!(
        role.contains("kind: ClusterRole") && role.contains("clusterprofiles"),
        "{role}"
    );
    let role = expect(0, &["rbac", "--namespace", "fleet", "--no-secrets"]);
    assert!(
        role.contains("namespace: \"fleet\"") && !role.contains("secrets"),
        "{role}"
    );
    for shell in ["bash", "zsh", "fish"] {
        assert!(expect(0, &["completions", shell]).contains("replay"), "{shell}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let is_coloured = |variables: &[(&str, &str)]| {
        let done = command(&["run", "--from", "violating.yaml"])
            .env_remove("CLICOLOR_FORCE")
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .output()
            .expect("the command runs");
        done.stdout.contains(&0x1b)
    };
    assert!(!is_coloured(&[]));
    assert!(is_coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}
