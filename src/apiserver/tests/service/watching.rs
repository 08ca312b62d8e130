//! Lists and watches.

use std::time::Duration;

use apiserver::{Affected, Misbehaviour};
use kube::{
    api::{Api, DynamicObject},
    core::{ApiResource, GroupVersionKind},
};
use kube_runtime::watcher;
use serde_json::{Value, json};

use super::{Hub, WIDGETS};

fn told(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn watches_from_a_moment_on() {
    let hub = Hub::new().await;
    let first = hub.widget("a").await;
    let version = first["metadata"]["resourceVersion"].as_str().expect("a version");
    let mut events = hub
        .watch(&format!("{WIDGETS}?watch=true&resourceVersion={version}"))
        .await;
    hub.widget("b").await;
    hub.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"size": 4}}))
        .await
        .expect(200);
    hub.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"size": 4}}))
        .await
        .expect(200);
    hub.call("DELETE", &format!("{WIDGETS}/a"), &Value::Null)
        .await
        .expect(200);
    assert_eq!(events.told().await, told("ADDED", "b"));
    let (kind, modified) = events.next().await.expect("an event");
    assert_eq!(
        (kind.as_str(), &modified["spec"]["size"]),
        ("MODIFIED", &json!(4))
    );
    let (kind, deleted) = events.next().await.expect("an event");
    assert_eq!((kind.as_str(), &deleted["spec"]["size"]), ("DELETED", &json!(4)));
    let list = hub.get(WIDGETS).await.expect(200);
    assert_eq!(
        deleted["metadata"]["resourceVersion"],
        list["metadata"]["resourceVersion"]
    );
}

#[tokio::test(start_paused = true)]
async fn streams_lists() {
    let hub = Hub::new().await;
    hub.widget("b").await;
    hub.widget("a").await;
    let path = format!(
        "{WIDGETS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut events = hub.watch(&path).await;
    assert_eq!(events.told().await, told("ADDED", "a"));
    assert_eq!(events.told().await, told("ADDED", "b"));
    let (kind, end) = events.next().await.expect("an event");
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(
        end["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    hub.widget("c").await;
    assert_eq!(events.told().await, told("ADDED", "c"));
    let started = tokio::time::Instant::now();
    let (kind, bookmark) = events.next().await.expect("an event");
    assert_eq!(kind, "BOOKMARK");
    assert_eq!(started.elapsed(), Duration::from_secs(60));
    let list = hub.get(WIDGETS).await.expect(200);
    assert_eq!(
        bookmark["metadata"]["resourceVersion"],
        list["metadata"]["resourceVersion"]
    );
    let version = list["metadata"]["resourceVersion"].as_str().expect("one");
    let mut short = hub
        .watch(&format!(
            "{WIDGETS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=7&resourceVersion={version}"
        ))
        .await;
    let started = tokio::time::Instant::now();
    hub.widget("d").await;
    assert_eq!(short.told().await, told("ADDED", "d"));
    assert_eq!(short.told().await, told("BOOKMARK", ""));
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    assert!(short.next().await.is_none());
    let incomplete = hub
        .get(&format!(
            "{WIDGETS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
        ))
        .await;
    assert_eq!(incomplete.code, 422);
}

#[tokio::test(start_paused = true)]
async fn selections_are_entered_and_left() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let made = hub.widget("b").await;
    let version = made["metadata"]["resourceVersion"].as_str().expect("a version");
    let mut events = hub
        .watch(&format!(
            "{WIDGETS}?watch=1&resourceVersion={version}&labelSelector=on"
        ))
        .await;
    let label = |value: Value| json!({"metadata": {"labels": {"on": value}}});
    let path = format!("{WIDGETS}/a");
    hub.merge(&path, &label("1".into())).await.expect(200);
    hub.merge(&path, &label("2".into())).await.expect(200);
    hub.merge(&format!("{WIDGETS}/b"), &json!({"spec": {"size": 5}}))
        .await
        .expect(200);
    let last = hub.merge(&path, &label(Value::Null)).await.expect(200);
    assert_eq!(events.told().await, told("ADDED", "a"));
    assert_eq!(events.told().await, told("MODIFIED", "a"));
    let (kind, left) = events.next().await.expect("an event");
    assert_eq!(kind, "DELETED");
    assert_eq!(left["metadata"]["labels"]["on"], "2");
    assert_eq!(
        left["metadata"]["resourceVersion"],
        last["metadata"]["resourceVersion"]
    );
    let by_name = hub
        .get(&format!("{WIDGETS}?fieldSelector=metadata.name%3Db"))
        .await
        .expect(200);
    assert_eq!(by_name["items"].as_array().map(Vec::len), Some(1));
    let unknown = hub.get(&format!("{WIDGETS}?fieldSelector=spec.size%3D3")).await;
    assert_eq!(
        (unknown.code, &unknown.body["message"]),
        (400, &json!("field label not supported: spec.size"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_past_expires() {
    let hub = Hub::new().await;
    let first = hub.widget("a").await;
    hub.widget("b").await;
    hub.server.misbehave(Misbehaviour::CompactHistory);
    let version = first["metadata"]["resourceVersion"].as_str().expect("a version");
    let mut events = hub
        .watch(&format!("{WIDGETS}?watch=1&resourceVersion={version}"))
        .await;
    let (kind, status) = events.next().await.expect("an event");
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    assert_eq!(status["reason"], "Expired");
    assert!(events.next().await.is_none());
    let exact = format!("{WIDGETS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(hub.get(&exact).await.code, 410);
    assert_eq!(
        hub.get(&format!("{WIDGETS}?resourceVersion=100000")).await.code,
        504
    );
}

#[tokio::test(start_paused = true)]
async fn lists_in_pages_of_one_moment() {
    let hub = Hub::new().await;
    for name in ["a", "b", "c"] {
        hub.widget(name).await;
    }
    let first = hub.get(&format!("{WIDGETS}?limit=2")).await.expect(200);
    assert_eq!(first["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    hub.widget("bb").await;
    hub.call("DELETE", &format!("{WIDGETS}/c"), &Value::Null)
        .await
        .expect(200);
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let second = hub
        .get(&format!("{WIDGETS}?limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(second["items"][0]["metadata"]["name"], "c");
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    assert_eq!(second["metadata"]["continue"], "");
}

#[tokio::test(start_paused = true)]
async fn watches_end_in_time_and_on_demand() {
    let hub = Hub::new().await;
    let mut short = hub.watch(&format!("{WIDGETS}?watch=1&timeoutSeconds=7")).await;
    let mut long = hub.watch(&format!("{WIDGETS}?watch=1")).await;
    let started = tokio::time::Instant::now();
    assert!(short.next().await.is_none());
    assert_eq!(started.elapsed(), Duration::from_secs(7));
    hub.server.misbehave(Misbehaviour::DropWatches);
    assert!(long.next().await.is_none());
    assert_eq!(started.elapsed(), Duration::from_secs(7));
    let mut last = hub.watch(&format!("{WIDGETS}?watch=1")).await;
    assert!(last.next().await.is_none());
    assert_eq!(started.elapsed(), Duration::from_secs(7 + 45 * 60));
}

#[tokio::test(start_paused = true)]
async fn a_kube_watcher_survives_everything() {
    use futures::StreamExt;
    let hub = Hub::new().await;
    hub.widget("a").await;
    let kind = GroupVersionKind::gvk("example.com", "v1", "Widget");
    let widgets: Api<DynamicObject> = Api::all_with(
        hub.server.client("admin"),
        &ApiResource::from_gvk_with_plural(&kind, "widgets"),
    );
    let mut seen = Vec::new();
    let mut events = watcher(widgets, watcher::Config::default().streaming_lists()).boxed();
    hub.server.misbehave(Misbehaviour::Fail {
        affected: Affected::verb_on("watch", "widgets"),
        code: 500,
        retry_after: None,
        every: 1,
        times: 1,
    });
    let mut failures = 0;
    while seen.len() < 2 {
        match events.next().await.expect("watchers never end") {
            Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object)) => {
                seen.push(object.metadata.name.unwrap_or_default());
            }
            Ok(watcher::Event::InitDone) => {
                hub.server.misbehave(Misbehaviour::DropWatches);
                hub.widget("b").await;
            }
            Ok(_) => {}
            Err(_) => {
                failures += 1;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
    assert_eq!(seen, ["a", "b"]);
    assert_eq!(failures, 1);
}

/// As kube-apiserver after a restore of etcd: the watch waits for a resourceVersion that is given out again, and only a list
/// tells that it is too large.
#[tokio::test(start_paused = true)]
async fn a_watch_from_before_a_restore_is_silent_until_its_version_is_reached() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let backup = hub.server.back_up();
    for name in ["b", "c", "d"] {
        hub.widget(name).await;
    }
    let list = hub.get(WIDGETS).await.expect(200);
    let known = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let path =
        format!("{WIDGETS}?watch=true&allowWatchBookmarks=true&resourceVersion={known}&timeoutSeconds=600");
    let mut before = hub.watch(&path).await;
    hub.server.restore(&backup);
    assert!(before.next().await.is_none(), "the watch ends");

    let list = hub.get(WIDGETS).await.expect(200);
    let items = list["items"].as_array().expect("items");
    assert_eq!(items.len(), 1, "{list}");
    let fresh = format!("{WIDGETS}?limit=1&resourceVersion={known}&resourceVersionMatch=NotOlderThan");
    let refused = hub.get(&fresh).await.expect(504);
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("Too large resource version"), "{message}");

    let mut events = hub.watch(&path).await;
    for name in ["e", "f", "g", "h"] {
        tokio::time::sleep(Duration::from_secs(100)).await;
        hub.widget(name).await;
    }
    // Those before have the versions of b, c and d, which the watch says to know.
    assert_eq!(events.told().await, told("ADDED", "h"));
}
