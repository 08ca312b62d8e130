//! The way from a hub to evidence, on the lab under the paused clock.

mod confirming;
mod driving;
mod looking;
mod members;
mod other_evidence;
mod paging;
mod refusals;
mod restoring;
mod rights;
#[path = "../send.rs"]
mod send;
mod settling;
mod snapshots;
mod sparing;
mod tampering;
mod watching;

use std::{
    future::{self, Future},
    time::Duration,
};

use apiserver::{Affected, ApiServer, AuditLevel, Misbehaviour};
use collect::{CollectError, EvidenceRequest, Members, Plan, Progress, Quiet, clock::Clock, collect};
use evidence::{Evidence, Gap, Kind};
use http::{Method, Request};
use jiff::Timestamp;
use kube::Client;
use lab::{
    crd::{self, CustomResourceDefinition},
    hub::Hub,
};
use send::send;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const START: &str = "2026-11-20T10:00:00Z";
const PROFILES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles";
const SLICES: &str = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/placementdecisions";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// A lab hub with a client that changes things on it.
struct World {
    hub: Hub,
    server: ApiServer,
    clock: Clock,
    admin: Client,
}

impl World {
    async fn new() -> Self {
        Self::with(&crd::all()).await
    }

    /// A hub with these profiles.
    async fn of(names: &[&str]) -> Self {
        let world = Self::new().await;
        for name in names {
            world.profile(name).await;
        }
        world
    }

    /// A hub with these definitions.
    async fn with(definitions: &[CustomResourceDefinition]) -> Self {
        let clock = Clock::starting_at(START.parse().expect("a time"));
        let hub = Hub::lab_with(clock, definitions).await.expect("a hub");
        let server = hub.as_lab().expect("the lab").clone();
        server.set_audit_level(AuditLevel::Request);
        Self {
            admin: server.client("admin"),
            hub,
            server,
            clock,
        }
    }

    /// Collects for that long, while `events` happens.
    async fn watch(&self, seconds: u64, events: impl Future<Output = ()>) -> Evidence {
        self.collect(&plan(seconds), events).await
    }

    async fn collect(&self, plan: &Plan, events: impl Future<Output = ()>) -> Evidence {
        self.collect_until(plan, events, future::pending()).await
    }

    async fn collect_until(
        &self,
        plan: &Plan,
        events: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
    ) -> Evidence {
        let collected = self.collect_and_report(plan, &Quiet, events, stop).await;
        collected.expect("evidence")
    }

    /// Why there is no evidence.
    async fn refusal(&self, plan: &Plan) -> String {
        let collected = self
            .collect_and_report(plan, &Quiet, async {}, future::pending())
            .await;
        collected.expect_err("a refusal").to_string()
    }

    async fn collect_and_report(
        &self,
        plan: &Plan,
        progress: &dyn Progress,
        events: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
    ) -> Result<Evidence, CollectError> {
        let token = CancellationToken::new();
        let collecting = collect(&self.hub.connection, plan, self.clock, progress, token.clone());
        let collecting = Box::pin(collecting);
        let stopping = async {
            stop.await;
            token.cancel();
            future::pending().await
        };
        tokio::select! {
            biased;
            never = stopping => never,
            (outcome, ()) = async { futures::join!(collecting, events) } => outcome,
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, kube::Error> {
        send(&self.admin, method, path, body).await
    }

    async fn create(&self, path: &str, object: Value) {
        self.send(Method::POST, path, Some(object))
            .await
            .expect("created");
    }

    /// A new profile in namespace `default`.
    async fn profile(&self, name: &str) {
        self.create(PROFILES, profile(name)).await;
    }

    async fn profile_in(&self, namespace: &str, name: &str) {
        self.create(&PROFILES.replace("default", namespace), profile(name))
            .await;
    }

    async fn patch(&self, path: &str, patch: Value) {
        self.send(Method::PATCH, path, Some(patch))
            .await
            .expect("patched");
    }

    async fn set_status(&self, name: &str, status: Value) {
        let path = format!("{PROFILES}/{name}/status");
        self.patch(&path, json!({"status": status})).await;
    }

    async fn report(&self, name: &str, version: &str) {
        self.set_status(name, json!({"version": {"kubernetes": version}}))
            .await;
    }

    async fn namespace(&self, name: &str) {
        let namespace = json!({"metadata": {"name": name}});
        self.create("/api/v1/namespaces", namespace).await;
    }

    /// The hub refuses the next requests of that verb for profiles.
    fn refuse(&self, verb: &str, code: u16, retry_after: Option<u32>, times: usize) {
        self.server.misbehave(Misbehaviour::Fail {
            affected: Affected::verb_on(verb, "clusterprofiles"),
            code,
            retry_after,
            every: 1,
            times,
        });
    }

    async fn delete(&self, name: &str) {
        self.send(Method::DELETE, &format!("{PROFILES}/{name}"), None)
            .await
            .expect("deleted");
    }

    /// All watches end, and all requests fail until [`Misbehaviour::Recover`].
    fn die(&self) {
        self.server.misbehave(Misbehaviour::Fail {
            affected: Default::default(),
            code: 503,
            retry_after: None,
            every: 1,
            times: usize::MAX,
        });
        self.server.misbehave(Misbehaviour::DropWatches);
    }

    /// The hub, or a proxy before it, accepts watches and delivers nothing for that long.
    fn hold(&self, seconds: u64) {
        let held = Misbehaviour::HoldEvents(Duration::from_secs(seconds));
        self.server.misbehave(held);
    }

    /// The runner's requests in the audit log.
    fn requests(&self) -> Vec<Value> {
        let mut events = self.server.audit_events();
        events.retain(|event| {
            event["user"]["username"] == "conformance" && event["stage"] == "ResponseComplete"
        });
        events
    }
}

fn profile(name: &str) -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": name, "labels": {"x-k8s.io/cluster-manager": "m"}},
        "spec": {"displayName": name, "clusterManager": {"name": "m"}},
    })
}

/// A slice that names these profiles of a namespace.
fn slice(name: &str, namespace: &str, profiles: &[&str]) -> Value {
    let decision = |name: &&str| json!({"clusterProfileRef": {"name": name, "namespace": namespace}});
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
        "metadata": {"name": name, "labels": {"multicluster.x-k8s.io/decision-key": "k"}},
        "decisions": profiles.iter().map(decision).collect::<Vec<Value>>(),
    })
}

/// A request's path and query, with pages of this size where it lists in pages.
fn with_pages_of(size: usize, uri: &str) -> String {
    let limit = format!("limit={size}");
    uri.replace("limit=10000", &limit).replace("limit=500", &limit)
}

fn plan(seconds: u64) -> Plan {
    Plan {
        probe: EvidenceRequest::No("not here".into()),
        ..Plan::watching(Duration::from_secs(seconds))
    }
}

/// Waits, by the paused clock.
async fn after(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

/// Seconds since the start of the world.
fn seconds(at: Timestamp) -> i64 {
    let start: Timestamp = START.parse().expect("a time");
    at.duration_since(start).as_secs()
}

/// What was seen of the profiles of that name: how each came into view, its versions of Kubernetes with the second
/// in which they were seen, and the second in which it went.
fn story(evidence: &Evidence, name: &str) -> Vec<String> {
    let histories = evidence
        .profiles
        .iter()
        .filter(|history| &*history.first().metadata.name == name);
    let texts = histories.map(|history| {
        let mut text = format!("{:?}", history.origin);
        for version in &history.versions {
            let kubernetes = version.object.status.version.kubernetes.as_deref().unwrap_or("-");
            text += &format!(" {kubernetes}@{}", seconds(version.received()));
        }
        if let Some(at) = history.deleted {
            text += &format!(" gone@{}", seconds(at));
        }
        text
    });
    texts.collect()
}

/// The names of the profiles that exist in the end.
fn inventory(evidence: &Evidence) -> Vec<&str> {
    let profiles = evidence.inventory();
    profiles.map(|profile| &*profile.metadata.name).collect()
}

/// Nothing that is marked as secret is in the evidence.
#[track_caller]
fn assert_no_canary(evidence: &Evidence) {
    let all = format!(
        "{} {evidence:?}",
        serde_json::to_string(evidence).expect("writes")
    );
    assert!(!all.contains("CANARY"), "{all}");
}

fn gaps(evidence: &Evidence, kind: Kind) -> Vec<&Gap> {
    evidence.gaps(kind).collect()
}

/// The only gap of a kind.
#[track_caller]
fn only_gap(evidence: &Evidence, kind: Kind) -> &Gap {
    let gaps = gaps(evidence, kind);
    assert_eq!(gaps.len(), 1, "{:?}", evidence.gaps);
    gaps[0]
}

/// From when to when, in seconds since the start.
fn span(gap: &Gap) -> (i64, i64) {
    let second = |at: Option<Timestamp>| at.map_or(-1, seconds);
    (second(gap.from), second(gap.until))
}
