//! The Kustomize base, with changes.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Cluster;

/// The name of the Job, of its namespace, and of its ServiceAccount.
pub const NAME: &str = "clusterprofile-conformance";
/// The name of the role that the ServiceAccount has, and of its binding.
pub const ROLE: &str = "clusterprofile-conformance:clusterprofile-conformance:clusterprofile-conformance";

/// The base and its setup in a folder of their own, with other arguments for `run`.
pub struct Kustomization(TempDir);

impl Kustomization {
    /// The base, with `arguments` instead of `--observe`.
    pub fn with(arguments: &[&str]) -> Self {
        Self::patched(arguments, Vec::new())
    }

    pub fn without_binding(arguments: &[&str]) -> Self {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ROLE},
            "$patch": "delete",
        });
        Self::patched(arguments, vec![json!({"patch": binding.to_string()})])
    }

    fn patched(arguments: &[&str], mut patches: Vec<Value>) -> Self {
        let folder = TempDir::new().expect("a folder");
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/in-cluster");
        copy(&base, &folder.path().join("base"));
        let container = "/spec/template/spec/containers/0";
        let observe = format!("{container}/args/1");
        let mut patch = vec![
            json!({"op": "test", "path": observe, "value": "--observe=5m"}),
            json!({"op": "remove", "path": observe}),
        ];
        for argument in arguments {
            patch.push(json!({"op": "add", "path": format!("{container}/args/-"), "value": argument}));
        }
        patches.push(json!({"target": {"kind": "Job"}, "patch": Value::from(patch).to_string()}));
        let kustomization = json!({"resources": ["base", "base/setup"], "patches": patches});
        let path = folder.path().join("kustomization.yaml");
        fs::write(path, kustomization.to_string()).expect("it is written");
        Self(folder)
    }

    /// Applies it, after the Job of an earlier trial is gone.
    pub fn apply(&self, cluster: &Cluster) {
        let delete = "--ignore-not-found --cascade=foreground";
        cluster.kubectl(format!("delete job {NAME} --namespace {NAME} {delete}"));
        cluster.kubectl(format!("apply --kustomize {}", self.0.path().display()));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copied = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, copied).expect("it is copied");
        }
    }
}
