//! The owners of fields.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Hub, WIDGETS};

fn owners(object: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = object["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .map(|entry| {
            assert_eq!(entry["operation"], "Update");
            assert_eq!(entry["apiVersion"], "example.com/v1");
            assert_eq!(entry["fieldsType"], "FieldsV1");
            (
                text(&entry["manager"]),
                text(&entry["subresource"]),
                entry["fieldsV1"].clone(),
            )
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn creators_own_what_they_sent_and_what_was_defaulted() {
    let hub = Hub::new().await;
    let made = hub.widget("a").await;
    let fields = json!({"f:spec": {".": {}, "f:mode": {}, "f:owner": {}, "f:size": {}}});
    assert_eq!(owners(&made), [("tester".to_owned(), String::new(), fields)]);
    assert_eq!(
        made["metadata"]["managedFields"][0]["time"],
        "2026-11-20T10:00:00Z"
    );
}

#[tokio::test(start_paused = true)]
async fn changes_move_ownership() {
    let hub = Hub::new().await;
    let path = format!("{WIDGETS}/a");
    hub.widget("a").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let patch = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"size": 4, "owner": "ann"}});
    let changed = hub
        .merge(&format!("{path}?fieldManager=other"), &patch)
        .await
        .expect(200);
    let first = json!({"f:spec": {".": {}, "f:mode": {}, "f:owner": {}}});
    let other = json!({"f:metadata": {"f:labels": {".": {}, "f:x": {}}}, "f:spec": {"f:size": {}}});
    assert_eq!(
        owners(&changed),
        [
            ("tester".to_owned(), String::new(), first),
            ("other".to_owned(), String::new(), other.clone()),
        ]
    );
    let removed = hub
        .merge(&path, &json!({"spec": {"owner": null, "mode": "fast"}}))
        .await
        .expect(200);
    let first = json!({"f:spec": {".": {}, "f:mode": {}}});
    assert_eq!(
        owners(&removed),
        [
            ("other".to_owned(), String::new(), other),
            ("tester".to_owned(), String::new(), first),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn list_maps_are_owned_by_key() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let path = format!("{WIDGETS}/a/status");
    let conditions = |list: Value| json!({"status": {"conditions": list}});
    let both = json!([{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]);
    hub.merge(&path, &conditions(both)).await.expect(200);
    let changed = json!([{"type": "A", "status": "True"}, {"type": "B", "status": "False"}]);
    let changed = hub
        .merge(&format!("{path}?fieldManager=other"), &conditions(changed))
        .await
        .expect(200);
    let status: Vec<_> = owners(&changed)
        .into_iter()
        .filter(|(_, subresource, _)| subresource == "status")
        .collect();
    let first = json!({"f:status": {".": {}, "f:conditions": {
        ".": {},
        "k:{\"type\":\"A\"}": {".": {}, "f:status": {}, "f:type": {}},
        "k:{\"type\":\"B\"}": {".": {}, "f:type": {}},
    }}});
    let other = json!({"f:status": {"f:conditions": {"k:{\"type\":\"B\"}": {"f:status": {}}}}});
    assert_eq!(
        status,
        [
            ("other".to_owned(), "status".to_owned(), other),
            ("tester".to_owned(), "status".to_owned(), first.clone()),
        ]
    );
    let gone = hub
        .merge(&path, &conditions(json!([{"type": "A", "status": "True"}])))
        .await
        .expect(200);
    let fields = json!({"f:status": {".": {}, "f:conditions": {
        ".": {}, "k:{\"type\":\"A\"}": {".": {}, "f:status": {}, "f:type": {}},
    }}});
    let status = owners(&gone)
        .into_iter()
        .filter(|(_, subresource, _)| subresource == "status");
    assert_eq!(
        status.collect::<Vec<_>>(),
        [("tester".to_owned(), "status".to_owned(), fields)]
    );
}

#[tokio::test(start_paused = true)]
async fn sets_and_finalizers_are_owned_by_value() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let patch = json!({"metadata": {"finalizers": ["example.com/x"]}, "spec": {"tags": ["t"]}});
    let path = format!("{WIDGETS}/a?fieldManager=other");
    let changed = hub.merge(&path, &patch).await.expect(200);
    let fields = json!({
        "f:metadata": {"f:finalizers": {".": {}, "v:\"example.com/x\"": {}}},
        "f:spec": {"f:tags": {".": {}, "v:\"t\"": {}}},
    });
    assert!(owners(&changed).contains(&("other".to_owned(), String::new(), fields)));
}

#[tokio::test(start_paused = true)]
async fn clients_can_forget_the_owners() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let path = format!("{WIDGETS}/a");
    let cleared = hub
        .merge(&path, &json!({"metadata": {"managedFields": [{}]}}))
        .await
        .expect(200);
    assert!(cleared["metadata"].get("managedFields").is_none());
    let changed = hub.merge(&path, &json!({"spec": {"size": 4}})).await.expect(200);
    assert!(changed["metadata"].get("managedFields").is_none());
}

#[tokio::test(start_paused = true)]
async fn many_updaters_share_an_entry() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let mut last = Value::Null;
    for i in 0..11 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let labels = json!({"metadata": {"labels": {format!("l{i}"): "x"}}});
        let path = format!("{WIDGETS}/a?fieldManager=m{i}");
        last = hub.merge(&path, &labels).await.expect(200);
    }
    let owners = owners(&last);
    assert_eq!(owners.len(), 10);
    assert_eq!(owners[0].0, "ancient-changes");
    assert!(owners[0].2["f:spec"].is_object());
    assert!(owners[0].2["f:metadata"]["f:labels"]["f:l0"].is_object());
}

#[tokio::test(start_paused = true)]
async fn an_apply_is_timed_when_it_changes_the_object() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let path = format!("{WIDGETS}/a?fieldManager=applier");
    let apply = async |label: &str| {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let config = json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "labels": {"x": label}},
        });
        let kind = "application/apply-patch+yaml";
        let applied = hub
            .send("admin", "PATCH", &path, kind, config.to_string().into())
            .await;
        applied.expect(200)
    };
    let time = |object: &Value| {
        let owners = object["metadata"]["managedFields"].as_array().unwrap();
        let own = owners.iter().find(|owner| owner["operation"] == "Apply");
        own.unwrap()["time"].clone()
    };
    let first = apply("1").await;
    assert_eq!(time(&first), "2026-11-20T10:00:05Z");
    assert_eq!(apply("1").await, first);
    let changed = apply("2").await;
    assert_eq!(time(&changed), "2026-11-20T10:00:15Z");
}
