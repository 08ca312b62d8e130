//! A hub that holds what fits no schema.

use std::time::Duration;

use collect::{Plan, Quiet, Wish, clock::Clock, collect};
use evidence::{Evidence, Kind};
use http::Method;
use kube::Client;
use lab::hub::Hub;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{neighbour, profile, reported};

const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles";
const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterprofiles.multicluster.x-k8s.io";

/// A lab hub whose CRD asks nothing of its objects.
pub struct LaxHub {
    hub: Hub,
    admin: Client,
    clock: Clock,
}

impl LaxHub {
    pub async fn new() -> Self {
        let clock = Clock::starting_at("2026-11-20T10:00:00Z".parse().expect("a time"));
        let hub = Hub::lab(clock).await.expect("a hub");
        let admin = hub.as_lab().expect("the lab").client("admin");
        let lax = Self { hub, admin, clock };
        let mut crd = lax.send(Method::GET, CRD, None).await;
        for version in crd["spec"]["versions"].as_array_mut().expect("versions") {
            version["schema"]["openAPIV3Schema"] =
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            version.as_object_mut().expect("a version").remove("subresources");
        }
        lax.send(Method::PUT, CRD, Some(crd)).await;
        lax
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let answer = crate::send::send(&self.admin, method, path, body).await;
        answer.expect("the hub takes it")
    }

    pub async fn put(&self, profile: &Value) {
        let mut profile = profile.clone();
        let metadata = profile["metadata"].as_object_mut().expect("metadata");
        // The hub sets the others.
        metadata.retain(|key, _| ["name", "namespace", "labels"].contains(&key.as_str()));
        self.send(Method::POST, PROFILES, Some(profile)).await;
    }

    pub async fn change(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let path = format!("{PROFILES}/{name}");
        let mut profile = self.send(Method::GET, &path, None).await;
        change(&mut profile);
        self.send(Method::PUT, &path, Some(profile)).await;
    }

    pub async fn delete(&self, name: &str) {
        let path = format!("{PROFILES}/{name}");
        self.send(Method::DELETE, &path, None).await;
    }

    /// Observes for that long, while `events` happen.
    pub async fn look(&self, seconds: u64, events: impl Future<Output = ()>) -> Evidence {
        let plan = Plan {
            probe: Wish::No("not here".into()),
            ..Plan::watching(Duration::from_secs(seconds))
        };
        let stop = CancellationToken::new();
        let collecting = collect(&self.hub.connection, &plan, self.clock, &Quiet, stop);
        futures::join!(collecting, events).0.expect("evidence")
    }
}

pub async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_past_a_version_that_does_not_fit() {
    let hub = LaxHub::new().await;
    hub.put(&neighbour()).await;
    hub.put(&profile("odd")).await;
    let spoil = |profile: &mut Value| profile["status"]["conditions"] = json!({"Joined": true});

    // Spoilt and fixed: judged by what it is in the end, with a gap in its history.
    let events = async {
        after(10).await;
        hub.change("odd", spoil).await;
        after(10).await;
        hub.change("odd", |profile| profile["status"]["conditions"] = json!([]))
            .await;
        hub.change("good", |profile| profile["spec"]["displayName"] = json!("later"))
            .await;
    };
    let evidence = hub.look(60, events).await;
    assert_eq!(reported(&evidence), [""; 0]);
    assert_eq!(evidence.inventory().count(), 2);
    let [gap] = &evidence.gaps[..] else {
        panic!("{:?}", evidence.gaps)
    };
    assert_eq!(gap.object.as_ref().expect("an object").name, "odd");
    assert_eq!(gap.kind, Kind::Timeline);
    assert!(gap.reason.contains("status.conditions: invalid type"), "{gap:?}");
    let mut histories = evidence.profiles.iter();
    let good = histories.find(|history| &*history.last().metadata.name == "good");
    assert_eq!(good.expect("it is there").versions.len(), 2);

    // Spoilt permanently: what it was before is no longer true, and no rule judges it by that.
    let events = async {
        after(10).await;
        hub.change("odd", spoil).await;
    };
    let evidence = hub.look(60, events).await;
    assert_eq!(reported(&evidence).len(), 1);
    let names = evidence
        .everyone()
        .map(|profile| profile.metadata.name.to_string());
    assert_eq!(names.collect::<Vec<_>>(), ["good"]);

    // Spoilt and deleted: only a gap is left.
    let events = async {
        after(10).await;
        hub.delete("odd").await;
    };
    let evidence = hub.look(60, events).await;
    assert_eq!(reported(&evidence), [""; 0]);
    assert_eq!(evidence.gaps.len(), 1, "{:?}", evidence.gaps);
}
