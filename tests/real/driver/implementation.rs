//! A small manager: members join and leave by files in a folder, and the manager queries them over the network.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use collect::clock::Clock;
use http::Method;
use kube::Client;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{command::profile, send::send, trials::client_of};

pub const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles";

pub struct Implementation {
    hub: Client,
    clock: Clock,
    /// With a kubeconfig for each member, under its name.
    folder: PathBuf,
    members: BTreeMap<String, Member>,
}

struct Member {
    client: Client,
    version: String,
    healthy: bool,
    since: String,
}

impl Implementation {
    pub fn new(hub: Client, folder: PathBuf) -> Self {
        Self {
            hub,
            folder,
            clock: Clock::system(),
            members: BTreeMap::new(),
        }
    }

    /// Publishes what the members report. Never returns.
    pub async fn live(mut self) {
        loop {
            self.poll().await;
            sleep(Duration::from_millis(30)).await;
        }
    }

    async fn poll(&mut self) {
        let files = fs::read_dir(&self.folder).expect("a folder");
        let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
        let names: Vec<String> = names.collect();
        let gone = self.members.keys().filter(|name| !names.contains(name));
        for name in gone.cloned().collect::<Vec<_>>() {
            self.members.remove(&name);
            let _ = send(&self.hub, Method::DELETE, &format!("{PROFILES}/m-{name}"), None).await;
        }
        for name in names {
            if !self.members.contains_key(&name)
                && let Some(client) = client_of(&self.folder.join(&name)).await
            {
                let member = Member {
                    client,
                    version: String::new(),
                    healthy: false,
                    since: self.now(),
                };
                self.members.insert(name.clone(), member);
            }
            self.publish(&name).await;
        }
    }

    /// Writes what the member reports to its profile.
    async fn publish(&mut self, name: &str) {
        let now = self.now();
        let Some(member) = self.members.get_mut(name) else {
            return;
        };
        let asked = timeout(Duration::from_secs(5), member.client.apiserver_version()).await;
        let version = asked.ok().and_then(Result::ok);
        if version.is_some() != member.healthy {
            member.healthy = version.is_some();
            member.since = now;
        }
        if let Some(version) = version {
            member.version = version.git_version;
        }
        let condition = |kind: &str, good: bool| {
            json!({
                "type": kind, "status": if good { "True" } else { "False" }, "reason": "Seen", "message": "",
                "lastTransitionTime": member.since,
            })
        };
        let status = json!({
            "version": {"kubernetes": member.version},
            "properties": [{"name": "cluster-endpoints.k8s.io", "value": format!("[\"https://{name}.example\"]")}],
            "conditions": [condition("Joined", true), condition("ControlPlaneHealthy", member.healthy)],
        });
        let path = format!("{PROFILES}/m-{name}");
        let found = send(&self.hub, Method::GET, &path, None).await;
        let found = found.unwrap_or_default();
        let labels = json!({"x-k8s.io/cluster-manager": "m"});
        if found.is_null() {
            let profile = profile("default", &format!("m-{name}"), "m");
            let _ = send(&self.hub, Method::POST, PROFILES, Some(profile)).await;
        } else if found["metadata"]["labels"] != labels {
            let patch = json!({"metadata": {"labels": labels}});
            let _ = send(&self.hub, Method::PATCH, &path, Some(patch)).await;
        }
        if found["status"] != status {
            let patch = json!({"status": status});
            let _ = send(&self.hub, Method::PATCH, &format!("{path}/status"), Some(patch)).await;
        }
    }

    fn now(&self) -> String {
        format!("{:.0}", self.clock.now())
    }
}
