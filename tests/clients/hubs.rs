//! The two hubs, over TLS in real time: the lab's, and a real API server.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use clusterprofile_conformance::clock::Clock;
use clusterprofile_conformance::hub::{Assets, EnvtestOptions, Hub as Started};
use clusterprofile_conformance::lab::apiserver::ApiServer;
use clusterprofile_conformance::lab::loopback::Loopback;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

/// In which everything runs.
pub static RUNTIME: LazyLock<tokio::runtime::Runtime> =
    LazyLock::new(|| tokio::runtime::Runtime::new().expect("a runtime"));

/// The users that kubeconfigs know; the first is all-powerful, the second may do what the scripts grant.
const USERS: [&str; 2] = ["admin", "viewer"];

/// A hub that others can reach.
pub struct Hub {
    /// Without a namespace.
    kubeconfig: Value,
    folder: TempDir,
    /// Where a real API server's own kubectl is.
    pub kubectl: Option<PathBuf>,
    /// The lab's server, for its misbehaviour.
    pub server: Option<ApiServer>,
    /// Taken when it is stopped.
    started: Mutex<Option<Started>>,
}

impl Hub {
    pub async fn lab() -> Self {
        let started = Started::lab(Clock::system()).await.expect("the lab starts");
        let server = started.as_lab().expect("it is the lab").clone();
        let loopback = Loopback::bind("hub", 0).await.expect("a port");
        let kubeconfig = merged(USERS.map(|user| loopback.way().kubeconfig_as(user)));
        tokio::spawn(loopback.serve(server.clone()));
        Self::new(kubeconfig, None, Some(server), started)
    }

    pub async fn real(assets: &Assets) -> Self {
        let started = Started::envtest(assets, EnvtestOptions::default()).await;
        let started = started.expect("the API server starts");
        let envtest = started.as_envtest().expect("it is envtest");
        let kubeconfig = merged(USERS.map(|user| envtest.kubeconfig(user)));
        Self::new(kubeconfig, assets.kubectl(), None, started)
    }

    fn new(kubeconfig: Value, kubectl: Option<PathBuf>, server: Option<ApiServer>, started: Started) -> Self {
        Self {
            kubeconfig,
            folder: TempDir::new().expect("a folder"),
            kubectl,
            server,
            started: Mutex::new(Some(started)),
        }
    }

    /// A new folder of that name, with a kubeconfig `config` for that namespace in it.
    pub fn folder(&self, name: &str, namespace: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("config"), self.kubeconfig_in(namespace).to_string())
            .expect("a kubeconfig");
        folder
    }

    /// Creates a namespace with this metadata; returns its name.
    pub async fn create_namespace(&self, metadata: Value) -> String {
        let namespaces: Api<Namespace> = Api::all(self.client("default").await);
        let wanted = serde_json::from_value(json!({"metadata": metadata})).expect("a Namespace");
        let made = namespaces.create(&PostParams::default(), &wanted).await;
        made.expect("a new Namespace").name_any()
    }

    /// A client of kube-rs with that default namespace.
    pub async fn client(&self, namespace: &str) -> Client {
        let kubeconfig: Kubeconfig =
            serde_json::from_value(self.kubeconfig_in(namespace)).expect("a kubeconfig");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        Client::try_from(config.expect("a kubeconfig")).expect("a client")
    }

    /// Ends it, and takes away what was written for it.
    pub fn stop(&self) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        drop(started.take());
        let _ = std::fs::remove_dir_all(self.folder.path());
    }

    fn kubeconfig_in(&self, namespace: &str) -> Value {
        let mut kubeconfig = self.kubeconfig.clone();
        kubeconfig["contexts"][0]["context"]["namespace"] = namespace.into();
        kubeconfig
    }
}

/// One kubeconfig for several users, of whom the first is the present one.
fn merged(kubeconfigs: [String; USERS.len()]) -> Value {
    let read = |text: String| serde_saphyr::from_str::<Value>(&text).expect("a kubeconfig");
    let mut all = kubeconfigs.map(read);
    let users: Vec<Value> = all.iter().map(|config| config["users"][0].clone()).collect();
    let mut first = all[0].take();
    first["users"] = json!(users);
    first
}

/// Where the scripts and what belongs to them are.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kubectl")
}
