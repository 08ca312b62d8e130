//! The suite as a Job, on the cluster of `ci/cluster`: what `ci/in-cluster` promises.
//!
//! The trials share one cluster, so they run one after the other. Each can run again on the same cluster.

mod job;
mod kustomization;
mod traces;

use std::{
    env,
    io::Write as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
};

use collect::clock::Clock;
use lab::manager::Manager;
use libtest_mimic::Trial;
use serde_json::Value;

use crate::{
    command::call,
    trials::{assets_or_reason, client_of, trial_with},
};

/// Held by the trial that uses the cluster.
static CLUSTER: Mutex<()> = Mutex::new(());

type Test = fn(&Cluster);

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 5] = [
        ("a_job_reports_what_a_run_from_outside_reports", job::reports),
        ("a_job_that_finds_a_violation_is_not_retried", job::is_not_retried),
        ("a_job_without_the_role_says_what_is_missing", job::lacks_the_role),
        (
            "the_namespace_refuses_pods_with_more_privileges",
            job::is_restricted,
        ),
        ("each_channel_leaves_the_cluster_as_it_was", traces::each_channel),
    ];
    let trials = tests.into_iter().map(|(name, test)| {
        trial_with(format!("real::cluster::{name}"), Cluster::find, move |cluster| {
            let _held = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
            test(&cluster);
        })
    });
    trials.collect()
}

const VARIABLE: &str = "CLUSTER_KUBECONFIG";

/// A cluster that the trials may change, and its kubectl.
pub struct Cluster {
    pub kubeconfig: PathBuf,
    pub kubectl: PathBuf,
}

impl Cluster {
    /// Finds the cluster, or says why the trials have to be ignored. No other kubeconfig will do: they change the cluster.
    pub fn find() -> Result<Self, String> {
        let kubeconfig = env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let kubeconfig = kubeconfig.ok_or(format!(
            "there is no cluster: set {VARIABLE} to the kubeconfig of `ci/cluster up`, and load the image of `ci/image`"
        ))?;
        let assets = assets_or_reason()?;
        Ok(Self {
            kubeconfig: PathBuf::from(kubeconfig),
            kubectl: assets.kubectl().ok_or("there is no kubectl")?,
        })
    }

    pub fn output(&self, line: impl AsRef<str>) -> Output {
        self.output_with(line, "")
    }

    /// Runs kubectl with text on its standard input. The words of the line are separated by spaces.
    pub fn output_with(&self, line: impl AsRef<str>, input: &str) -> Output {
        let mut kubectl = Command::new(&self.kubectl)
            .args(line.as_ref().split_whitespace())
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        let mut stdin = kubectl.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("kubectl reads");
        drop(stdin);
        kubectl.wait_with_output().expect("kubectl ends")
    }

    #[track_caller]
    pub fn kubectl(&self, line: impl AsRef<str>) -> String {
        self.kubectl_with(line, "")
    }

    /// Runs kubectl with text on its standard input. It has to succeed.
    #[track_caller]
    pub fn kubectl_with(&self, line: impl AsRef<str>, input: &str) -> String {
        let output = self.output_with(&line, input);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {}: {err}", line.as_ref());
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    #[track_caller]
    pub fn get(&self, line: impl AsRef<str>) -> Value {
        let json = self.kubectl(format!("get --output json {}", line.as_ref()));
        serde_json::from_str(&json).expect("JSON")
    }
}

const PROFILE: &str = "reference-manager-lisbon";
const FLEET: &str = "lab-fleet";

/// Installs the CRDs and lets the reference manager publish its fleet, once. It does not stay.
fn prepare(cluster: &Cluster) {
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
            let client = client_of(&cluster.kubeconfig).await.expect("a client");
            let mut manager = Manager::new(Vec::new(), Clock::system());
            manager.set_up(&client).await.expect("the hub takes the fleet");
        });
    });
}

/// Has the profile's label name that manager.
fn label(cluster: &Cluster, manager: &str) {
    let label = format!("--overwrite x-k8s.io/cluster-manager={manager}");
    let profile = format!("clusterprofile {PROFILE} --namespace {FLEET}");
    cluster.kubectl(format!("label {profile} {label}"));
}

fn suite(line: &str) -> String {
    let done = call(line);
    assert_eq!(done.code, Some(0), "{line}: {}", done.err);
    done.out
}
