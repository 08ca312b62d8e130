//! The suite as a Job: `ci/in-cluster` fits the command.

use std::collections::BTreeSet;

use super::*;

fn manifest(name: &str) -> String {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/in-cluster");
    fs::read_to_string(base.join(name)).expect(name)
}

#[test]
fn the_role_of_the_base_is_that_of_rbac() {
    let account = "clusterprofile-conformance:clusterprofile-conformance";
    let printed = expect(0, &["rbac", "--bind", account]);
    assert_eq!(
        manifest("setup/rbac.yaml"),
        printed,
        "update it: clusterprofile-conformance rbac --bind {account} >ci/in-cluster/setup/rbac.yaml"
    );
}

/// The objects of a stream of YAML documents.
fn objects(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).expect("YAML")
}

/// Kind, namespace and name of an object, which no two channels may share.
fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!(
        "{} {}/{}",
        object["kind"], metadata["namespace"], metadata["name"]
    )
}

#[test]
fn accounts_share_no_object() {
    let account =
        |flags: &[&str], account: &str| objects(&expect(0, &[&["rbac", "--bind", account], flags].concat()));
    let installations = [
        account(&[], "a:b-c"),
        account(&[], "a-b:c"),
        account(&["--namespace", "fleet"], "a:d"),
        account(&["--namespace", "fleet"], "b:d"),
        account(&["--members"], "a:reader"),
    ];
    let keys: Vec<String> = installations.iter().flatten().map(key).collect();
    let different: BTreeSet<&String> = keys.iter().collect();
    assert_eq!(different.len(), keys.len(), "{keys:#?}");
}

#[test]
fn all_that_is_printed_or_applied_is_found_by_one_label() {
    let mut files = Vec::new();
    for folder in ["in-cluster", "in-cluster/setup"] {
        let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("ci").join(folder));
        let paths = entries
            .expect(folder)
            .map(|entry| entry.expect("an entry").path());
        files.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")));
    }
    let texts = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a manifest"));
    let texts = texts.chain([
        expect(0, &["rbac"]),
        expect(0, &["rbac", "--namespace", "fleet", "--bind", "a:b"]),
        expect(0, &["rbac", "--members", "--bind", "a:b"]),
    ]);
    let mut found = 0;
    for object in texts.flat_map(|text| objects(&text)) {
        if object["metadata"].is_object() {
            let labels = &object["metadata"]["labels"];
            assert_eq!(
                labels["app.kubernetes.io/part-of"],
                "clusterprofile-conformance",
                "{}",
                key(&object)
            );
            let name = labels["app.kubernetes.io/name"].as_str().unwrap_or_default();
            assert!(name.starts_with("clusterprofile-conformance"), "{}", key(&object));
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_role_for_placements_grants_neither_secrets_nor_dry_runs() {
    let printed = expect(0, &["rbac", "--role", "scheduler"]);
    for unused in ["secrets", "patch", "update", "get, list"] {
        assert!(!printed.contains(unused), "{unused} in {printed}");
    }
}

#[test]
fn a_run_on_placements_asks_for_neither_secrets_nor_dry_runs() {
    let folder = TempDir::new().expect("a folder");
    let evidence = folder.path().join("evidence.jsonl");
    let file = evidence.display().to_string();
    let lab = ["run", "--hub", "lab", "--manager", "reference", "--observe", "0s"];
    expect(
        0,
        &[&lab[..], &["--role", "scheduler", "--record", &file]].concat(),
    );
    let text = fs::read_to_string(evidence).expect("evidence");
    let header: Value = serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
    for kind in ["secrets", "probe"] {
        let told = header.to_string();
        let asked = &header["header"]["requested"][kind];
        assert!(
            asked
                .to_string()
                .contains("only rules on cluster managers need it"),
            "{kind}: {told}"
        );
    }
}

#[test]
fn the_base_runs_this_version() {
    let job: Value = serde_saphyr::from_str(&manifest("job.yaml")).expect("YAML");
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let image = concat!("localhost/clusterprofile-conformance:", env!("CARGO_PKG_VERSION"));
    assert_eq!(container["image"], image);
}

#[test]
fn a_binding_needs_an_account() {
    let done = call(&["rbac", "--bind", "Nobody"]);
    assert_eq!(done.code, Some(2), "{}", done.err);
    assert!(done.err.contains("write it as NAMESPACE:NAME"), "{}", done.err);
    let member = expect(0, &["rbac", "--members", "--bind", "tests:runner"]);
    assert!(
        member.contains("kind: ClusterRoleBinding") && member.contains("name: \"runner\""),
        "{member}"
    );
}
