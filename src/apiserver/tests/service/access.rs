//! Access rights, the audit log, and faults on demand.

use std::time::Duration;

use apiserver::{Affected, AuditLevel, Misbehaviour};
use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Hub, WIDGETS, widget};

#[tokio::test(start_paused = true)]
async fn the_audit_log_tells_who_did_what() {
    let hub = Hub::new().await;
    hub.server.set_audit_level(AuditLevel::RequestResponse);
    hub.widget("a").await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "canary"}});
    let secrets = "/api/v1/namespaces/default/secrets";
    hub.call("POST", secrets, &secret).await.expect(201);
    hub.merge(
        &format!("{WIDGETS}/a/status?x=y"),
        &json!({"status": {"phase": "Ready"}}),
    )
    .await
    .expect(200);
    hub.get(&format!("{WIDGETS}/none")).await;
    let watch = hub.watch(&format!("{WIDGETS}?watch=1")).await;
    drop(watch);
    let events = hub.server.audit_events();
    let events = &events[events.len() - 6..];
    let short: Vec<_> = events
        .iter()
        .map(|event| {
            (
                event["verb"].as_str().unwrap_or_default(),
                event["stage"].as_str().unwrap_or_default(),
                event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        short,
        [
            ("create", "ResponseComplete", 201),
            ("create", "ResponseComplete", 201),
            ("patch", "ResponseComplete", 200),
            ("get", "ResponseComplete", 404),
            ("watch", "ResponseStarted", 200),
            ("watch", "ResponseComplete", 200),
        ]
    );
    assert_eq!(events[0]["requestObject"]["spec"]["size"], 3);
    assert_eq!(events[0]["objectRef"]["name"], "a");
    let patch = &events[2];
    assert_eq!(
        patch["objectRef"],
        json!({
            "resource": "widgets", "namespace": "default", "name": "a", "apiGroup": "example.com",
            "apiVersion": "v1", "subresource": "status",
        })
    );
    assert_eq!(patch["user"]["username"], "admin");
    assert_eq!(patch["userAgent"], "tester/1.0 (test)");
    assert_eq!(patch["requestURI"], format!("{WIDGETS}/a/status?x=y"));
    assert_eq!(patch["stageTimestamp"], "2026-11-20T10:00:00.000000Z");
    assert_eq!(events[3]["responseStatus"]["reason"], "NotFound");
    let levels: Vec<_> = events
        .iter()
        .filter_map(|event| event["level"].as_str())
        .collect();
    let (less, all) = ("Metadata", "RequestResponse");
    assert_eq!(levels, [all, less, all, less, less, less]);
    assert_eq!(patch["responseObject"]["status"]["phase"], "Ready");
    assert!(patch["responseObject"]["metadata"]["resourceVersion"].is_string());
    let has_answer = |event: &&Value| event.get("responseObject").is_some();
    assert_eq!(events.iter().filter(has_answer).count(), 2);
    let log = hub.server.audit_log();
    assert!(log.lines().count() > 6 && !log.contains("canary") && !log.contains("Y2FuYXJ5"));
}

#[tokio::test(start_paused = true)]
async fn misbehaves_on_demand() {
    let hub = Hub::new().await;
    hub.server.misbehave(Misbehaviour::Fail {
        affected: Affected::verb_on("list", "widgets"),
        code: 429,
        retry_after: Some(3),
        every: 1,
        times: 1,
    });
    let response = hub
        .request("admin", "GET", WIDGETS, "application/json", Bytes::new())
        .await;
    assert_eq!(response.status().as_u16(), 429);
    assert_eq!(response.headers()["retry-after"], "3");
    assert_eq!(hub.get(WIDGETS).await.code, 200);
    hub.server.misbehave(Misbehaviour::Delay {
        affected: Affected::default(),
        by: Duration::from_secs(2),
    });
    hub.server
        .misbehave(Misbehaviour::SkewClock(SignedDuration::from_hours(1)));
    let started = tokio::time::Instant::now();
    let made = hub.call("POST", WIDGETS, &widget("a")).await.expect(201);
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-11-20T11:00:02Z");
    hub.server.misbehave(Misbehaviour::Recover);
    hub.get(WIDGETS).await.expect(200);
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn tells_what_it_serves() {
    let hub = Hub::new().await;
    let groups = hub.get("/apis").await.expect(200);
    let example = groups["groups"].as_array().expect("groups").iter();
    let example = example
        .clone()
        .find(|group| group["name"] == "example.com")
        .expect("our group");
    assert_eq!(example["preferredVersion"]["version"], "v1");
    let resources = hub.get("/apis/example.com/v1").await.expect(200);
    let names: Vec<_> = resources["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .map(|resource| resource["name"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(names, ["widgets", "widgets/status"]);
    assert_eq!(hub.get("/apis/nothing.example.com/v1").await.code, 404);
    assert_eq!(hub.get("/api/v1/pods").await.code, 404);
    let put = hub.call("PUT", "/api/v1/namespaces", &json!({})).await;
    assert_eq!((put.code, &put.body["reason"]), (405, &json!("MethodNotAllowed")));
}
