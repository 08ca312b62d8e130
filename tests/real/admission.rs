//! The admission policy in `docs/examples` on a real API server.

use std::{fs, process::Output, time::Duration};

use envtest::Assets;
use lab::hub::{Hub, envtest_options};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    command,
    real::cluster::Cluster,
    trials::{assets_or_reason, async_trial_with},
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
    let name = "real::admission::the_example_policy_denies_bad_manager_labels";
    let trial = async_trial_with(name, assets_or_reason, denies_bad_manager_labels);
    vec![trial]
}

async fn denies_bad_manager_labels(assets: Assets) {
    let hub = Hub::envtest(&assets, envtest_options()).await.unwrap();
    let envtest = hub.as_envtest().unwrap();
    let kubectl = Cluster {
        kubectl: assets.kubectl().unwrap(),
        kubeconfig: envtest.folder().join("kubeconfig"),
    };
    fs::write(&kubectl.kubeconfig, envtest.kubeconfig("conformance")).unwrap();
    for line in ["create namespace fleet", &format!("apply --filename {POLICY}")] {
        kubectl.kubectl(line);
    }
    let bad = profile("v1alpha1", "bad", "m", None);
    let enforced = async {
        while create(&kubectl, &bad, true).is_ok() {
            sleep(Duration::from_millis(250)).await;
        }
    };
    let enforced = timeout(ENFORCED, enforced).await;
    enforced.expect("the policy is not enforced");

    for version in ["v1alpha1", "v1alpha2"] {
        for (label, denied) in [
            (Some("m"), None),
            (None, Some(MISSING)),
            (Some("other"), Some(DIFFERS)),
        ] {
            let profile = profile(version, &format!("a-{version}"), "m", label);
            assert_answer(&create(&kubectl, &profile, true), denied);
        }
    }
    // The definition of v1alpha2 denies such a name itself.
    let unusable = profile("v1alpha1", "b", "not usable", Some("m"));
    assert_answer(&create(&kubectl, &unusable, true), Some(UNUSABLE));

    let valid = profile("v1alpha1", "a", "m", Some("m"));
    assert_answer(&create(&kubectl, &valid, false), None);
    for (change, denied) in [
        (json!("other"), Some(DIFFERS)),
        (Value::Null, Some(MISSING)),
        (json!("m"), None),
    ] {
        let patch = json!({"metadata": {"labels": {LABEL: change}}}).to_string();
        let patch = format!("patch clusterprofile a --namespace fleet --type=merge --patch {patch}");
        assert_answer(&answer(&kubectl.output(patch)), denied);
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
    let mut profile = command::profile("fleet", name, manager);
    profile["apiVersion"] = format!("multicluster.x-k8s.io/{version}").into();
    profile["metadata"]["labels"] = label.map_or(json!({}), |label| json!({LABEL: label}));
    profile
}

/// Creates an object. Returns the message if it is denied.
fn create(kubectl: &Cluster, object: &Value, is_dry_run: bool) -> Result<(), String> {
    let flags = if is_dry_run { "--dry-run=server" } else { "" };
    let create = format!("create --filename - {flags}");
    answer(&kubectl.output_with(create, &object.to_string()))
}

fn answer(output: &Output) -> Result<(), String> {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(message)
}
