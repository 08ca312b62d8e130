//! What is on the hub: the fleet of the reference manager.

use std::sync::OnceLock;

use collect::clock::Clock;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use lab::manager::Manager;

use super::kubectl::Cluster;

/// A profile of the fleet.
pub const PROFILE: &str = "reference-manager-lisbon";
/// Its namespace.
pub const FLEET: &str = "lab-fleet";

/// Installs the CRDs and lets the reference manager publish its fleet, once. It does not stay.
pub fn prepare(cluster: &Cluster) {
    static PREPARED: OnceLock<()> = OnceLock::new();
    PREPARED.get_or_init(|| {
        let namespaces = cluster.get("namespaces");
        for namespace in namespaces["items"].as_array().expect("a list") {
            let name = namespace["metadata"]["name"].as_str().expect("a name");
            if name.starts_with("lab-") {
                cluster.kubectl(format!("delete namespace {name}"));
            }
        }
        cluster.kubectl_with("apply --server-side --filename -", &suite("crd"));
        cluster.kubectl("wait --for=condition=Established crd/clusterprofiles.multicluster.x-k8s.io");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&cluster.kubeconfig).expect("a kubeconfig");
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            let client = Client::try_from(config.expect("a context")).expect("a client");
            let mut manager = Manager::new(Vec::new(), Clock::system());
            manager.set_up(&client).await.expect("the hub takes the fleet");
        });
    });
}

/// Has the profile's label name that manager.
pub fn label(cluster: &Cluster, manager: &str) {
    let label = format!("x-k8s.io/cluster-manager={manager}");
    cluster.kubectl(format!(
        "label clusterprofile {PROFILE} --namespace {FLEET} --overwrite {label}"
    ));
}

/// The output of the suite, which has to succeed.
pub fn suite(line: &str) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args(line.split_whitespace())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{line}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
