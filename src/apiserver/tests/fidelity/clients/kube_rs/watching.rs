//! Uses kube-rs' watchers, its reflector and `await_condition`.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    ResourceExt as _,
    api::{Api, DeleteParams, PartialObjectMeta, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    reflector::{self, ObjectRef},
    wait::{await_condition, conditions, delete::delete_and_finalize},
    watcher::{self, Event, watcher},
};
use serde_json::json;

use super::{GROUP, Hub, PLURAL, object, profile, profiles, stage};

/// How long an effect may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Follows objects with a label: present ones, new ones, those that gain or lose the label, deleted ones.
pub async fn watches(hub: &Hub, streamed: bool) {
    let api = profiles(stage(hub).await);
    let post = PostParams::default();
    let labelled = |name: &str| {
        let mut profile = profile(name);
        profile
            .labels_mut()
            .insert("watched".to_owned(), "yes".to_owned());
        profile
    };
    for name in ["a", "b"] {
        api.create(&post, &labelled(name))
            .await
            .expect("a ClusterProfile");
    }
    api.create(&post, &profile("c")).await.expect("a ClusterProfile");
    let config = watcher::Config::default().labels("watched=yes");
    let config = if streamed {
        config.streaming_lists()
    } else {
        config.page_size(1)
    };
    let events = watcher(api.clone(), config).map(|event| match event.expect("an event") {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("init {}", object.name_any()),
        Event::InitDone => "done".to_owned(),
        Event::Apply(object) => format!("apply {}", object.name_any()),
        Event::Delete(object) => format!("delete {}", object.name_any()),
    });
    let mut events = Box::pin(events);
    let mut told = async |count: usize| -> Vec<String> {
        let some = events.by_ref().take(count).collect();
        tokio::time::timeout(PATIENCE, some)
            .await
            .expect("all events in time")
    };
    assert_eq!(told(4).await, ["init", "init a", "init b", "done"]);
    let label = async |name: &str, value: Option<&str>| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"watched": value}}}));
        api.patch(name, &PatchParams::default(), &patch)
            .await
            .expect("a label");
    };
    label("c", Some("yes")).await;
    label("a", None).await;
    api.delete("b", &DeleteParams::default()).await.expect("it goes");
    api.create(&post, &labelled("d")).await.expect("a ClusterProfile");
    assert_eq!(told(4).await, ["apply c", "delete a", "delete b", "apply d"]);
}

/// Keeps a store of metadata up to date.
pub async fn reflects(hub: &Hub) {
    let client = stage(hub).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    let named = |name: &str| object(json!({"metadata": {"name": name}, "data": {"a": "1"}}));
    let first = maps.create(&post, &named("a")).await.expect("a ConfigMap");
    let (store, writer) = reflector::store();
    let metadata: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let events = watcher(metadata, watcher::Config::default());
    let following = tokio::spawn(reflector::reflector(writer, events).for_each(async |_| {}));
    let ready = tokio::time::timeout(PATIENCE, store.wait_until_ready());
    ready
        .await
        .expect("a list in time")
        .expect("a reflector that runs");
    let namespace = first.namespace().expect("a namespace");
    let known = |name: &str| store.get(&ObjectRef::new(name).within(&namespace));
    assert_eq!(
        known("a").map(|known| known.metadata.clone()),
        Some(first.metadata)
    );

    maps.create(&post, &named("b")).await.expect("a ConfigMap");
    maps.delete("a", &DeleteParams::default()).await.expect("it goes");
    let changed = async {
        while known("a").is_some() || known("b").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, changed)
        .await
        .expect("the changes in time");
    following.abort();
}

pub async fn waits_for_conditions(hub: &Hub) {
    let client = stage(hub).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = format!("{PLURAL}.{GROUP}");
    let established = await_condition(definitions, &name, conditions::is_crd_established());
    tokio::time::timeout(PATIENCE, established)
        .await
        .expect("in time")
        .expect("an established kind");

    let api = profiles(client.clone());
    let late = await_condition(api.clone(), "late", conditions::is_created());
    let (post, wanted) = (PostParams::default(), profile("late"));
    let made = api.create(&post, &wanted);
    let (seen, made) = tokio::join!(tokio::time::timeout(PATIENCE, late), made);
    let made = made.expect("a ClusterProfile");
    let seen = seen.expect("in time").expect("a watch").expect("the object");
    assert_eq!(seen.metadata.uid, made.metadata.uid);
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = object(json!({"metadata": {"name": "m"}}));
    maps.create(&post, &map).await.expect("a ConfigMap");
    let params = DeleteParams::default();
    let gone = delete_and_finalize(maps.clone(), "m", &params);
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("in time")
        .expect("it goes");
    assert!(maps.get_opt("m").await.expect("an answer").is_none());
}
