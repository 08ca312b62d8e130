//! Credentials that are rotated while a monitor runs: the old ones are refused from then on.

use std::{fs, path::PathBuf};

use apiserver::{ApiServer, Misbehaviour, User, new_token};
use collect::clock::Clock;
use jiff::ToSpan as _;
use lab::hub::Hub;
use libtest_mimic::Trial;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, runtime::Runtime};

use super::Monitor;
use crate::trials::trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "monitoring::a_plugin_whose_token_ends_is_asked_again",
            a_plugin_whose_token_ends_is_asked_again,
        ),
        // The client reads a file again after a minute, by the machine's clock: .ci/run waits for that.
        trial(
            "monitoring::a_token_file_is_read_again",
            a_token_file_is_read_again,
        )
        .with_ignored_flag(true),
    ]
}

/// A hub that asks for tokens, and a kubeconfig for it.
struct World {
    server: ApiServer,
    token: String,
    folder: TempDir,
    kubeconfig: PathBuf,
    /// The hub is served while it runs.
    _runtime: Runtime,
}

impl World {
    /// A hub whose user logs in by what `user` says, with files of the folder.
    fn new(user: impl Fn(&TempDir) -> Value) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let (server, url) = runtime.block_on(async {
            let hub = Hub::lab(Clock::system()).await.expect("a hub");
            let server = hub.as_lab().expect("the lab").clone();
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
            let url = format!("http://{}", listener.local_addr().expect("an address"));
            let serving = server.clone();
            tokio::spawn(async move { serving.serve(listener).await });
            (server, url)
        });
        let folder = TempDir::new().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "clusters": [{"name": "hub", "cluster": {"server": url}}],
            "users": [{"name": "monitor", "user": user(&folder)}],
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "monitor"}}],
        });
        fs::write(&kubeconfig, text.to_string()).expect("written");
        let mut world = Self {
            server,
            token: String::new(),
            folder,
            kubeconfig,
            _runtime: runtime,
        };
        world.accept_another_token();
        world
    }

    fn accept_another_token(&mut self) {
        self.token = new_token();
        self.server.add_token(&self.token, User::master("conformance"));
    }

    fn monitor(&self) -> Monitor {
        let monitor = Monitor::start(&["--kubeconfig", &self.kubeconfig.display().to_string()]);
        monitor.metrics();
        monitor
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("written");
    }

    /// Refuses the token from now on, ends the watches, and publishes a profile.
    fn refuse(&self, token: &str) {
        self.server.revoke_token(token);
        self.server.misbehave(Misbehaviour::DropWatches);
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "late", "namespace": "default", "uid": "late"},
            "spec": {"clusterManager": {"name": "m"}},
        });
        self.server
            .place(("multicluster.x-k8s.io", "clusterprofiles"), profile);
    }
}

/// What is served once the profile that was published late is judged.
fn with_the_late_profile(monitor: &Monitor) -> String {
    let profiles = "profiles{cluster_manager=\"m\",inventory_namespace=\"default\"} 1\n";
    monitor.metrics_with(&format!("clusterprofile_conformance_{profiles}"))
}

fn a_plugin_whose_token_ends_is_asked_again() {
    let file = "credential.json";
    let mut world = World::new(|folder| {
        let path = folder.path().join(file);
        let version = "client.authentication.k8s.io/v1";
        json!({"exec": {"apiVersion": version, "command": "cat", "args": [path], "interactiveMode": "Never"}})
    });
    let give = |world: &World| {
        // A token that ends so soon is renewed before each request.
        let expires = Clock::system().now() + 45.seconds();
        let status = json!({"token": world.token, "expirationTimestamp": expires.to_string()});
        let credential = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status,
        });
        world.write(file, &credential.to_string());
    };
    give(&world);
    let monitor = world.monitor();
    let before = world.token.clone();
    world.accept_another_token();
    give(&world);
    world.refuse(&before);
    let metrics = with_the_late_profile(&monitor);
    assert!(
        metrics.contains("clusterprofile_conformance_watch_gap_seconds_total 0\n"),
        "{metrics}"
    );
}

fn a_token_file_is_read_again() {
    let file = "token";
    let mut world = World::new(|folder| json!({"tokenFile": folder.path().join(file)}));
    world.write(file, &world.token);
    let monitor = world.monitor();
    let before = world.token.clone();
    world.accept_another_token();
    world.write(file, &world.token);
    world.refuse(&before);
    let metrics = with_the_late_profile(&monitor);
    assert!(
        metrics.contains("clusterprofile_conformance_verdicts_fresh 1\n"),
        "{metrics}"
    );
}
