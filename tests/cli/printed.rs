//! Rules and manifests that the command prints, and the kubectl plugin.

use std::{collections::BTreeSet, process::Command};

use super::*;

#[test]
fn verbose_lists_the_rules() {
    let run = "run --from conforming.yaml --exact identity/manager-label-present";
    let line = "[MUST explicit]   identity/manager-label-present ... ok\n";
    assert!(!expect(0, run).contains(line));
    assert!(expect(0, format!("{run} -v")).starts_with(line));
}

#[test]
fn rules_are_listed_and_explained() {
    let must = "MUST    explicit  identity/";
    let table = expect_output(0, "list", &[&format!("{must}manager-label-present\n")]);
    assert!(!table.contains("identity/member-id-non-empty"), "{table}");
    let row = format!("{must}member-id-non-empty\n");
    expect_output(0, "list --edition 2026-09", &[&row]);
    let json: Value = serde_json::from_str(&expect(0, "list --format json")).expect("JSON");
    assert_eq!(json[0]["rule"], "identity/manager-label-present");
    assert_eq!(json[0]["level"], "MUST");
    let row = "| `identity/member-id-set` | SHOULD | explicit | 2026-09 |";
    expect_output(0, "list --format markdown --edition 2026-09", &[row]);
    let head = "[MUST explicit] identity/manager-label-present";
    let parts = [head, "KEP-4322", "remedy", "passes:", "fails:"];
    let explained = expect_output(0, "explain identity/manager-label-present", &parts);
    assert_contains(&explained, &["and a report says", "observed"]);
}

#[test]
fn manifests_and_completions_are_printed() {
    let crds = expect(0, "crd");
    for name in [
        "clusterprofiles.multicluster.x-k8s.io",
        "placementdecisions.multicluster.x-k8s.io",
        "clusterproperties.about.k8s.io",
    ] {
        let text = fs::read_to_string(format!("{ROOT}/src/lab/crds/{name}.yaml")).expect("a definition");
        assert_contains(&crds, &[text.trim_start_matches("---\n").trim_end()]);
    }
    for shell in ["bash", "zsh", "fish"] {
        expect_output(0, format!("completions {shell}"), &["replay"]);
    }
}

#[test]
fn roles_grant_what_a_run_needs_and_nothing_else() {
    expect_output(0, "rbac", &["kind: ClusterRole", "clusterprofiles"]);
    let role = expect_output(0, "rbac -n fleet --no-secrets", &["namespace: \"fleet\""]);
    assert!(!role.contains("secrets"), "{role}");
    let role = expect(0, "rbac --role scheduler");
    for unused in ["secrets", "patch", "update", "get, list"] {
        assert!(!role.contains(unused), "{unused} in {role}");
    }
    let parts = ["kind: ClusterRoleBinding", "name: \"runner\""];
    expect_output(0, "rbac --members --bind tests:runner", &parts);
    let manifest = fs::read_to_string(format!("{ROOT}/ci/in-cluster/setup/rbac.yaml")).expect("a manifest");
    let command = "rbac --bind clusterprofile-conformance:clusterprofile-conformance";
    let printed = expect(0, command);
    assert_eq!(manifest, printed, "write the output of `{command}` to it");
}

fn objects(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).expect("YAML")
}

fn key(object: &Value) -> String {
    let (kind, metadata) = (&object["kind"], &object["metadata"]);
    format!("{kind} {}/{}", metadata["namespace"], metadata["name"])
}

#[test]
fn accounts_share_no_object() {
    let flags = "--bind a:b-c|--bind a-b:c|--namespace fleet --bind a:d|--namespace fleet --bind b:d|\
                 --members --bind a:reader";
    let print = |flags: &str| expect(0, format!("rbac {flags}"));
    let printed: Vec<String> = flags.split('|').map(print).collect();
    let objects = printed.iter().flat_map(|text| objects(text));
    let keys: Vec<String> = objects.map(|object| key(&object)).collect();
    assert_eq!(BTreeSet::from_iter(&keys).len(), keys.len(), "{keys:#?}");
}

#[test]
fn every_object_that_is_printed_or_applied_has_the_label() {
    let lines = [
        "rbac",
        "rbac --namespace fleet --bind a:b",
        "rbac --members --bind a:b",
    ];
    let mut texts = Vec::from(lines.map(|line| expect(0, line)));
    for path in docs::files_of(&Path::new(ROOT).join("ci/in-cluster"), "yaml") {
        texts.push(fs::read_to_string(path).expect("a manifest"));
    }
    let objects = texts.iter().flat_map(|text| objects(text));
    let objects: Vec<Value> = objects.filter(|object| object["metadata"].is_object()).collect();
    assert!(objects.len() > 10, "{objects:?}");
    for object in objects {
        let labels = &object["metadata"]["labels"];
        let label = |name| labels[name].as_str().unwrap_or_default();
        let suite = "clusterprofile-conformance";
        assert_eq!(label("app.kubernetes.io/part-of"), suite, "{}", key(&object));
        let name = label("app.kubernetes.io/name");
        assert!(name.starts_with(suite), "{}", key(&object));
    }
}

/// krew links the plugin's name to the binary.
#[cfg(unix)]
#[test]
fn as_a_plugin_usage_and_advice_can_be_copied() {
    const PLUGIN: &str = "kubectl clusterprofile-conformance";
    let folder = Folder::new();
    let link = folder.path("kubectl-clusterprofile_conformance");
    std::os::unix::fs::symlink(command::BINARY, &link).expect("a link");
    let plugin = |line: &str| {
        let mut plugin = Command::new(&link);
        plugin
            .args(line.split(' '))
            .current_dir(Path::new(ROOT).join("tests/cli"));
        done(plugin.env_remove("KUBECONFIG").env_remove("COLUMNS"))
    };
    let usage = format!("Usage: {PLUGIN} <COMMAND>");
    assert_contains(&plugin("--help").out, &[&usage]);
    let example = format!("    {PLUGIN} run --hub lab");
    assert_contains(&plugin("run --help").out, &[&example]);
    let wrong = plugin("run --no-such-flag");
    assert_eq!(wrong.code, Some(2));
    assert_contains(&wrong.err, &[&format!("Usage: {PLUGIN} run")]);

    let judged = plugin("run --from violating.yaml");
    assert_eq!(judged.code, Some(1), "{}", judged.err);
    let lines = judged.out.lines();
    let lines: Vec<&str> = lines
        .filter_map(|line| line.strip_prefix("  explain   "))
        .collect();
    assert!(!lines.is_empty(), "{}", judged.out);
    for line in lines {
        assert!(line.starts_with(&format!("{PLUGIN} explain ")), "{line}");
    }
}
