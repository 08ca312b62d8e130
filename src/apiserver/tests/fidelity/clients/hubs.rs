//! The two hubs, over TLS in real time: ours, and a real API server.

use std::{
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use apiserver::{ApiServer, Loopback, ServerClock, User};
use envtest::{Assets, Envtest, EnvtestOptions, EnvtestUser};
use http::Request;
use k8s_openapi::{
    api::core::v1::Namespace, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Client, ResourceExt as _,
    api::{Api, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scripts::definitions;

pub static RUNTIME: LazyLock<tokio::runtime::Runtime> =
    LazyLock::new(|| tokio::runtime::Runtime::new().expect("a runtime"));

/// The users of the kubeconfigs: an administrator, and one with only the rights that scripts grant.
const USERS: [&str; 2] = ["admin", "viewer"];

/// A hub that other programs can reach.
pub struct Hub {
    /// A kubeconfig without a namespace.
    kubeconfig: Value,
    folder: TempDir,
    /// The kubectl of a real API server's release.
    pub kubectl: Option<PathBuf>,
    /// Our server, to make it misbehave.
    pub server: Option<ApiServer>,
    /// Taken when the hub stops.
    real: Mutex<Option<Envtest>>,
}

impl Hub {
    pub async fn ours() -> Self {
        let server = ApiServer::new(ServerClock::system());
        server.add_user(User::with_rules("viewer", Vec::new()));
        definitions()
            .into_iter()
            .for_each(|definition| server.define(definition));
        let loopback = Loopback::bind("hub", 0).await.expect("a port");
        let kubeconfig = merged(USERS.map(|user| loopback.endpoint().kubeconfig_as(user)));
        tokio::spawn(loopback.serve(server.clone()));
        Self::new(kubeconfig, Some(server), None)
    }

    pub async fn real(assets: &Assets) -> Self {
        let options = EnvtestOptions {
            users: vec![EnvtestUser::without_rights(USERS[1])],
            ..EnvtestOptions::default()
        };
        let envtest = Envtest::start(assets, options)
            .await
            .expect("the API server starts");
        let kubeconfig = merged(USERS.map(|user| envtest.kubeconfig(user)));
        let mut hub = Self::new(kubeconfig, None, Some(envtest));
        hub.kubectl = assets.kubectl();
        hub.install_definitions().await;
        hub
    }

    fn new(kubeconfig: Value, server: Option<ApiServer>, real: Option<Envtest>) -> Self {
        Self {
            kubeconfig,
            folder: TempDir::new().expect("a folder"),
            kubectl: None,
            server,
            real: Mutex::new(real),
        }
    }

    /// Creates a folder of that name, with a kubeconfig `config` for that namespace.
    pub fn folder(&self, name: &str, namespace: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let kubeconfig = self.kubeconfig_in(namespace).to_string();
        std::fs::write(folder.join("config"), kubeconfig).expect("a kubeconfig");
        folder
    }

    /// Creates a namespace with this metadata; returns its name.
    pub async fn create_namespace(&self, metadata: Value) -> String {
        let namespaces: Api<Namespace> = Api::all(self.client("default").await);
        let wanted = serde_json::from_value(json!({"metadata": metadata})).expect("a Namespace");
        let made = namespaces.create(&PostParams::default(), &wanted).await;
        made.expect("a new Namespace").name_any()
    }

    pub async fn client(&self, namespace: &str) -> Client {
        let kubeconfig: Kubeconfig = serde_json::from_value(self.kubeconfig_in(namespace)).expect("one");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        Client::try_from(config.expect("a kubeconfig")).expect("a client")
    }

    /// Installs the CRDs, and waits until each version is served.
    async fn install_definitions(&self) {
        let client = self.client("default").await;
        for definition in definitions() {
            let api: Api<CustomResourceDefinition> = Api::all(client.clone());
            let definition = serde_json::from_value(definition).expect("a definition");
            let made = api.create(&PostParams::default(), &definition).await;
            let spec = made.expect("a new definition").spec;
            for version in spec.versions.iter().filter(|version| version.served) {
                let (group, version, plural) = (&spec.group, &version.name, &spec.names.plural);
                let path = format!("/apis/{group}/{version}/{plural}?limit=1");
                let list = || Request::get(&path).body(Vec::new()).expect("a request");
                while client.request_text(list()).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    pub fn stop(&self) {
        let mut real = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        drop(real.take());
        let _ = std::fs::remove_dir_all(self.folder.path());
    }

    fn kubeconfig_in(&self, namespace: &str) -> Value {
        let mut kubeconfig = self.kubeconfig.clone();
        kubeconfig["contexts"][0]["context"]["namespace"] = namespace.into();
        kubeconfig
    }
}

/// One kubeconfig for several users. The first one's context is current.
fn merged(kubeconfigs: [String; USERS.len()]) -> Value {
    let read = |text: String| serde_saphyr::from_str::<Value>(&text).expect("a kubeconfig");
    let mut all = kubeconfigs.map(read);
    let users: Vec<Value> = all.iter().map(|config| config["users"][0].clone()).collect();
    let mut first = all[0].take();
    first["users"] = json!(users);
    first
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kubectl")
}
