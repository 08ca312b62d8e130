//! The admission policy in `docs/examples` on a real API server.

use std::{fs, path::PathBuf, process::Output, time::Duration};

use envtest::Assets;
use lab::hub::{Hub, envtest_options};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    cluster::kubectl::run_kubectl,
    trials::{assets_or_reason, trial_with},
};

const POLICY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/docs/examples/validating-admission-policy.yaml"
);
const LABEL: &str = "x-k8s.io/cluster-manager";
const UNUSABLE: &str = "spec.clusterManager.name is not a valid label value";
const MISSING: &str = "label x-k8s.io/cluster-manager is missing";
const DIFFERS: &str = "label x-k8s.io/cluster-manager differs from spec.clusterManager.name";

/// How long the API server may take until it enforces the policy.
const ENFORCED: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    vec![trial_with(
        "admission::the_example_policy_denies_bad_manager_labels",
        assets_or_reason,
        |assets| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(denies_bad_manager_labels(&assets));
        },
    )]
}

async fn denies_bad_manager_labels(assets: &Assets) {
    let hub = Hub::envtest(assets, envtest_options()).await.unwrap();
    let envtest = hub.as_envtest().unwrap();
    let kubectl = Kubectl {
        program: assets.kubectl().unwrap(),
        kubeconfig: envtest.folder().join("kubeconfig"),
    };
    fs::write(&kubectl.kubeconfig, envtest.kubeconfig("conformance")).unwrap();
    kubectl.succeeds("create namespace fleet");
    kubectl.succeeds(&format!("apply --filename {POLICY}"));
    let enforced = async {
        while kubectl
            .create(&profile("v1alpha1", "bad", "m", None), true)
            .is_ok()
        {
            sleep(Duration::from_millis(250)).await;
        }
    };
    timeout(ENFORCED, enforced)
        .await
        .expect("the policy is not enforced");

    for version in ["v1alpha1", "v1alpha2"] {
        for (manager, label, denied) in [
            ("m", Some("m"), None),
            ("m", None, Some(MISSING)),
            ("m", Some("other"), Some(DIFFERS)),
        ] {
            let created = kubectl.create(&profile(version, &format!("a-{version}"), manager, label), true);
            assert_answer(&created, denied);
        }
    }
    // The definition of v1alpha2 denies such a name itself.
    let unusable = profile("v1alpha1", "b", "not usable", Some("m"));
    assert_answer(&kubectl.create(&unusable, true), Some(UNUSABLE));

    assert_answer(
        &kubectl.create(&profile("v1alpha1", "a", "m", Some("m")), false),
        None,
    );
    for (change, denied) in [
        (json!("other"), Some(DIFFERS)),
        (Value::Null, Some(MISSING)),
        (json!("m"), None),
    ] {
        let patch = json!({"metadata": {"labels": {LABEL: change}}}).to_string();
        let patch = format!("patch clusterprofile a --namespace fleet --type=merge --patch {patch}");
        let patched = kubectl.output(&patch, "");
        assert_answer(&answer(&patched), denied);
    }
    hub.stop().await.unwrap();
}

#[track_caller]
fn assert_answer(answer: &Result<(), String>, denied: Option<&str>) {
    match (answer, denied) {
        (Ok(()), None) => {}
        (Err(message), Some(part)) => assert!(message.contains(part), "{part:?} is not in {message}"),
        _ => panic!("want {denied:?}, got {answer:?}"),
    }
}

fn profile(version: &str, name: &str, manager: &str, label: Option<&str>) -> Value {
    let mut profile = json!({
        "apiVersion": format!("multicluster.x-k8s.io/{version}"),
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": "fleet"},
        "spec": {"clusterManager": {"name": manager}},
    });
    if let Some(label) = label {
        profile["metadata"]["labels"] = json!({LABEL: label});
    }
    profile
}

fn answer(output: &Output) -> Result<(), String> {
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    fn output(&self, line: &str, input: &str) -> Output {
        run_kubectl(&self.program, &self.kubeconfig, line, input)
    }

    #[track_caller]
    fn succeeds(&self, line: &str) {
        assert_eq!(answer(&self.output(line, "")), Ok(()), "{line}");
    }

    fn create(&self, object: &Value, dry_run: bool) -> Result<(), String> {
        let flags = if dry_run { "--dry-run=server" } else { "" };
        answer(&self.output(&format!("create --filename - {flags}"), &object.to_string()))
    }
}
