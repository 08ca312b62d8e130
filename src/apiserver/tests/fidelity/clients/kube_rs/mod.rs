//! Runs kube-rs on a hub: `Api`, watchers and controllers.

mod controlling;
mod verbs;
mod watching;

use futures::{FutureExt as _, future::BoxFuture};
use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

use super::hubs::Hub;

/// A custom resource of both hubs.
const GROUP: &str = "multicluster.x-k8s.io";
const KIND: &str = "ClusterProfile";
const PLURAL: &str = "clusterprofiles";

/// A test on a hub.
pub type Test = fn(&'static Hub) -> BoxFuture<'static, ()>;

/// Tests for any hub.
pub fn tests() -> Vec<(&'static str, Test)> {
    vec![
        ("writes_and_reads", |hub| verbs::writes_and_reads(hub).boxed()),
        ("patches", |hub| verbs::patches(hub).boxed()),
        ("applies", |hub| verbs::applies(hub).boxed()),
        ("deletes", |hub| verbs::deletes(hub).boxed()),
        ("discovers", |hub| verbs::discovers(hub).boxed()),
        ("watches", |hub| watching::watches(hub, false).boxed()),
        ("watches_streamed_lists", |hub| {
            watching::watches(hub, true).boxed()
        }),
        ("reflects", |hub| watching::reflects(hub).boxed()),
        ("waits_for_conditions", |hub| {
            watching::waits_for_conditions(hub).boxed()
        }),
        ("controls", |hub| controlling::controls(hub).boxed()),
        ("records_events", |hub| controlling::records_events(hub).boxed()),
    ]
}

/// Tests that need this server's misbehaviour.
pub fn lab_tests() -> Vec<(&'static str, Test)> {
    vec![("a_controller_survives_everything", |_| {
        controlling::a_controller_survives_everything().boxed()
    })]
}

/// A client for a new namespace.
async fn stage(hub: &Hub) -> Client {
    let namespace = hub.create_namespace(json!({"generateName": "kube-rs-"})).await;
    hub.client(&namespace).await
}

fn resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1alpha1", KIND), PLURAL)
}

/// The ClusterProfiles of the client's namespace.
fn profiles(client: Client) -> Api<DynamicObject> {
    Api::default_namespaced_with(client, &resource())
}

fn profile(name: &str) -> DynamicObject {
    let profile = json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND, "metadata": {"name": name},
        "spec": {"displayName": name, "clusterManager": {"name": "kube-rs"}},
    });
    serde_json::from_value(profile).expect("a ClusterProfile")
}

/// An object of a typed kind.
fn object<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("an object of that kind")
}

/// The HTTP status code of a refusal.
#[track_caller]
fn refusal<T: std::fmt::Debug>(answer: kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected to be refused, got {other:?}"),
    }
}
