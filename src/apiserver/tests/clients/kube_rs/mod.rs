//! kube-rs on a hub: its `Api`, its watchers and its controllers.

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

/// A custom resource that both hubs serve.
const GROUP: &str = "multicluster.x-k8s.io";
const KIND: &str = "ClusterProfile";
const PLURAL: &str = "clusterprofiles";

/// What is done on a hub, and looked at.
pub type Test = fn(&'static Hub) -> BoxFuture<'static, ()>;

/// All that any hub has to pass.
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

/// What only this server can be told to do.
pub fn lab_tests() -> Vec<(&'static str, Test)> {
    vec![("a_controller_survives_everything", |_| {
        controlling::a_controller_survives_everything().boxed()
    })]
}

/// A client for a namespace of its own.
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

/// An object of a kind that is known.
fn object<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("an object of that kind")
}

/// The HTTP status code with which a request was refused.
#[track_caller]
fn refusal<T: std::fmt::Debug>(answer: kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected to be refused, got {other:?}"),
    }
}
