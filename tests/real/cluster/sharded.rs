//! The Jobs that judge in shares.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    hub::{self, FLEET, PROFILE},
    job::{run_from_outside, wait_for},
    kubectl::Cluster,
    kustomization::{NAME, copy_of},
};

/// Another namespace of the fleet, which falls to another share of 3. No namespace with profiles falls to the third.
const OTHER: &str = "lab-clusterset";
const SHARES: &str = "clusterprofile-conformance-shares";
const MERGE: &str = "clusterprofile-conformance-merge";

pub fn shares_are_merged_into_what_one_run_reports(cluster: &Cluster) {
    hub::prepare(cluster);
    name_two_clusters_alike(cluster);
    let volume = Volume::new(cluster);
    let overlay = overlay();
    let applied = |part: &str| overlay.path().join(part).display().to_string();
    cluster.kubectl(&["apply", "--kustomize", &applied("run")]);
    // A share has no violation: its two sides are in two of them.
    let shares = wait_for(cluster, SHARES, "condition=Complete");
    assert_eq!(shares.decided, 3);
    let mut names = volume.files();
    names.sort();
    assert_eq!(
        names,
        ["share-0.jsonl.zst", "share-1.jsonl.zst", "share-2.jsonl.zst"]
    );

    cluster.kubectl(&["apply", "--kustomize", &applied("merge")]);
    let merged = wait_for(cluster, MERGE, "condition=Failed");
    let (code, report) = run_from_outside(cluster, &["--observe=0s"]);
    cluster.kubectl(&["delete", "clusterprofile", PROFILE, "--namespace", OTHER]);
    assert_eq!((merged.code(), code), (1, 1));
    assert!(
        merged.message().contains("in 3 of 3 shares merged"),
        "{}",
        merged.message()
    );
    assert_eq!(verdicts(&merged.report()), verdicts(&report));
    let failed = verdicts(&report);
    let failed = failed.iter().filter(|(_, (verdict, _))| verdict == "fail");
    assert_eq!(
        failed.map(|(rule, _)| rule.as_str()).collect::<Vec<_>>(),
        ["identity/name-unique"]
    );

    // Without one of them, nothing is conformant, and nothing passes.
    volume.remove("share-1.jsonl.zst");
    cluster.kubectl(&["delete", "--kustomize", &applied("merge")]);
    cluster.kubectl(&["apply", "--kustomize", &applied("merge")]);
    let ended = wait_for(cluster, MERGE, "condition=Failed");
    assert_eq!(ended.code(), 3, "{}", ended.message());
    assert!(
        ended.message().contains("share 1/3 is missing"),
        "{}",
        ended.message()
    );
}

/// The verdict on each rule, and where it found something.
fn verdicts(report: &Value) -> BTreeMap<String, (String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let verdicts = report["verdicts"].as_array().expect("verdicts").iter();
    verdicts
        .map(|verdict| {
            let findings = verdict["findings"].as_array().cloned().unwrap_or_default();
            let places = findings.iter().map(|finding| {
                let object = &finding["object"];
                format!(
                    "{}/{} {}",
                    text(&object["namespace"]),
                    text(&object["name"]),
                    text(&finding["path"])
                )
            });
            (
                text(&verdict["rule"]),
                (text(&verdict["verdict"]), places.collect()),
            )
        })
        .collect()
}

/// Publishes another cluster under the name of one, in the other namespace.
fn name_two_clusters_alike(cluster: &Cluster) {
    let profile = cluster.get(&["clusterprofile", PROFILE, "--namespace", FLEET]);
    let text = profile
        .to_string()
        .replace("00c0ffee", "00decaf0")
        .replace("lisbon.", "faro.");
    let mut other: Value = serde_json::from_str(&text.replace("192.0.2.", "198.51.100.")).expect("JSON");
    let labels = other["metadata"]["labels"].clone();
    other["metadata"] = json!({"name": PROFILE, "namespace": OTHER, "labels": labels});
    cluster.kubectl_with(&["apply", "--filename", "-"], &other.to_string());
    let status = json!({"status": other["status"]}).to_string();
    let patch = [
        "patch",
        "clusterprofile",
        PROFILE,
        "--namespace",
        OTHER,
        "--subresource=status",
    ];
    cluster.kubectl(&[&patch[..], &["--type=merge", "--patch", &status]].concat());
}

/// The Kustomizations of the Jobs, for 3 shares and one look: folders `run` and `merge`.
fn overlay() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for part in ["in-cluster", "in-cluster-sharded"] {
        copy_of(part, &folder.path().join(part));
    }
    let args = "/spec/template/spec/containers/0/args";
    let patch = json!([
        {"op": "replace", "path": "/spec/completions", "value": 3},
        {"op": "replace", "path": "/spec/parallelism", "value": 3},
        {"op": "test", "path": format!("{args}/1"), "value": "--observe=5m"},
        {"op": "replace", "path": format!("{args}/1"), "value": "--observe=0s"},
        {"op": "test", "path": format!("{args}/2"), "value": "--shard=auto/8"},
        {"op": "replace", "path": format!("{args}/2"), "value": "--shard=auto/3"},
    ]);
    let claim = json!([
        {"op": "add", "path": "/spec/storageClassName", "value": ""},
        {"op": "add", "path": "/spec/volumeName", "value": Volume::NAME},
    ]);
    let write = |part: &str, kustomization: Value| {
        let folder = folder.path().join(part);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("kustomization.yaml"), kustomization.to_string()).expect("it is written");
    };
    write(
        "run",
        json!({"resources": ["../in-cluster/setup", "../in-cluster-sharded"], "patches": [
            {"target": {"kind": "Job"}, "patch": patch.to_string()},
            {"target": {"kind": "PersistentVolumeClaim"}, "patch": claim.to_string()},
        ]}),
    );
    write("merge", json!({"resources": ["../in-cluster-sharded/merge"]}));
    folder
}

/// A folder of the cluster's only node, as a volume.
struct Volume(TempDir);

impl Volume {
    const NAME: &str = "clusterprofile-conformance-evidence";

    /// Creates it, after the Jobs and the claim of an earlier trial are gone.
    fn new(cluster: &Cluster) -> Self {
        for job in [SHARES, MERGE] {
            let gone = ["delete", "job", job, "--namespace", NAME, "--ignore-not-found"];
            cluster.kubectl(&[&gone[..], &["--cascade=foreground"]].concat());
        }
        cluster.kubectl(&[
            "delete",
            "pvc",
            "evidence",
            "--namespace",
            NAME,
            "--ignore-not-found",
        ]);
        cluster.kubectl(&["delete", "pv", Self::NAME, "--ignore-not-found"]);
        let folder = TempDir::new().expect("a folder");
        // The Pods run as a user who does not own it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("its mode");
        let volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": Self::NAME},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany"],
                "storageClassName": "",
                "hostPath": {"path": folder.path()},
            },
        });
        cluster.kubectl_with(&["apply", "--filename", "-"], &volume.to_string());
        Self(folder)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("the volume");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    fn remove(&self, name: &str) {
        fs::remove_file(Path::new(self.0.path()).join(name)).expect("it is removed");
    }
}
