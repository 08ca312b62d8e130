//! A hub that is reached in another way than before. In real time: it is about TLS.

use std::{fs, path::Path};

use apiserver::Loopback;
use collect::connect::KubeconfigOptions;
use tempfile::TempDir;
use tokio::{task::JoinHandle, time::timeout};

use super::*;

/// Serves the hub at that port, with a certificate authority of its own. Returns the port and the kubeconfig.
async fn serve(server: &ApiServer, port: u16) -> (u16, String, JoinHandle<()>) {
    let loopback = Loopback::bind("hub", port).await.expect("a port");
    let port = loopback.listener.local_addr().expect("an address").port();
    let kubeconfig = loopback.endpoint().kubeconfig_as("conformance");
    let serving = tokio::spawn(loopback.serve(server.clone()));
    (port, kubeconfig, serving)
}

impl World {
    /// Runs a monitor by that kubeconfig until `serving` has ended, the hub is served `anew`, and `write` has written how
    /// it is reached now.
    pub(super) async fn is_followed<T>(
        &self,
        kubeconfig: &Path,
        serving: JoinHandle<()>,
        anew: impl AsyncFnOnce() -> T,
        write: impl FnOnce(T),
    ) {
        let monitor = self.monitor();
        let shared = Arc::clone(&monitor.shared);
        let source = Source::Kubeconfig(KubeconfigOptions {
            path: Some(kubeconfig.to_owned()),
            ..KubeconfigOptions::default()
        });
        let seen = async {
            until(&shared, "verdicts_fresh", 1.0).await;
            let asked = value(&shared, "hub_requests_total").await;
            serving.abort();
            let _ = serving.await;
            let way = anew().await;
            until(&shared, "watch_up", 0.0).await;
            write(way);
            until(&shared, "watch_up", 1.0).await;
            until(&shared, "verdicts_fresh", 1.0).await;
            let asked_in_all = value(&shared, "hub_requests_total").await;
            assert!(asked_in_all > asked, "{asked:?}, then {asked_in_all:?}");
        };
        self.run_by(source, monitor, seen).await;
    }
}

/// Waits until the metric has that value.
async fn until(shared: &Shared, metric: &str, expected: f64) {
    let reached = async {
        while value(shared, metric).await != Some(expected) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let waited = timeout(Duration::from_secs(40), reached).await;
    waited.unwrap_or_else(|_| panic!("{metric} is not {expected}"));
}

#[tokio::test]
async fn a_hub_with_a_new_certificate_authority_is_reached_without_a_restart() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let (port, kubeconfig, serving) = serve(world.server(), 0).await;
    fs::write(&path, kubeconfig).expect("it is written");
    let anew = async || {
        let (_, kubeconfig, _serving) = serve(world.server(), port).await;
        kubeconfig
    };
    let write = |kubeconfig| fs::write(&path, kubeconfig).expect("it is written");
    world.is_followed(&path, serving, anew, write).await;
}
