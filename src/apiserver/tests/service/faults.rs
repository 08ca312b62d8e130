//! Faults on demand, watches, and the audit log, by a paused clock: what no comparison with a real API server shows.

use std::{io::Read as _, time::Duration};

use apiserver::{Affected, AuditLevel, Misbehaviour};
use bytes::Bytes;
use jiff::SignedDuration;

use super::*;

#[tokio::test(start_paused = true)]
async fn every_third_request_fails_and_no_other() {
    let hub = Hub::new().await;
    hub.server.misbehave(Misbehaviour::Fail {
        affected: Affected::verb_on("list", "widgets"),
        code: 429,
        retry_after: Some(2),
        every: 3,
        times: usize::MAX,
    });
    let mut codes = Vec::new();
    for _ in 0..6 {
        codes.push(hub.get(WIDGETS).await.code);
        assert_eq!(hub.get("/api/v1/namespaces").await.code, 200);
    }
    assert_eq!(codes, [200, 200, 429, 200, 200, 429]);
    for _ in 0..2 {
        hub.get(WIDGETS).await;
    }
    let json = "application/json";
    let refused = hub.request("admin", "GET", WIDGETS, json, Bytes::new()).await;
    assert_eq!(refused.headers()["retry-after"], "2");
    hub.server.misbehave(Misbehaviour::Recover);
    for _ in 0..3 {
        hub.get(WIDGETS).await.expect(200);
    }
}

#[tokio::test(start_paused = true)]
async fn watches_end_in_the_middle_and_go_on_where_they_were() {
    let hub = Hub::new().await;
    let first = hub.widget("a").await;
    hub.server.misbehave(Misbehaviour::DropWatchesAfter(2));
    for name in ["b", "c", "d"] {
        hub.widget(name).await;
    }
    let mut last = version(&first).to_owned();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let path = format!("{WIDGETS}?watch=1&resourceVersion={last}");
        let mut events = hub.watch(&path).await;
        for _ in 0..2.min(3 - seen.len()) {
            let (_, object) = events.next().await.expect("an event");
            last = version(&object).to_owned();
            seen.push(object["metadata"]["name"].clone());
        }
        if seen.len() == 2 {
            assert!(events.next().await.is_none(), "it ends");
        }
    }
    assert_eq!(seen, ["b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn events_are_held_and_come_in_their_order() {
    let hub = Hub::new().await;
    hub.server
        .misbehave(Misbehaviour::HoldEvents(Duration::from_secs(30)));
    let mut events = hub.watch(&format!("{WIDGETS}?watch=1")).await;
    let started = tokio::time::Instant::now();
    for name in ["b", "a"] {
        hub.widget(name).await;
    }
    assert_eq!(events.kind_and_name().await.1, "b");
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    assert_eq!(events.kind_and_name().await.1, "a");
    assert_eq!(started.elapsed(), Duration::from_secs(30), "both at once");
    hub.widget("c").await;
    assert_eq!(events.kind_and_name().await.1, "c");
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_withheld() {
    let hub = Hub::new().await;
    hub.server.misbehave(Misbehaviour::WithholdBookmarks);
    let list = hub.get(WIDGETS).await.expect(200);
    let from = version(&list);
    let query =
        format!("{WIDGETS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion={from}");
    let mut events = hub.watch(&query).await;
    let namespace = json!({"metadata": {"name": "n"}});
    hub.call("POST", "/api/v1/namespaces", &namespace)
        .await
        .expect(201);
    assert!(events.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_short_memory_forgets() {
    let hub = Hub::new().await;
    let first = hub.widget("a").await;
    let second = hub.widget("b").await;
    hub.widget("c").await;
    hub.server.misbehave(Misbehaviour::Remember(1));
    let from = |object: &Value| format!("{WIDGETS}?watch=1&resourceVersion={}", version(object));
    assert_eq!(hub.watch(&from(&second)).await.kind_and_name().await.1, "c");
    let (kind, status) = hub.watch(&from(&first)).await.next().await.expect("an event");
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
}

#[tokio::test(start_paused = true)]
async fn the_log_goes_to_a_file_as_requests_end() {
    let hub = Hub::new().await;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    hub.server.send_audit_log(Some(file.reopen().expect("the file")));
    hub.get(WIDGETS).await.expect(200);
    let mut text = String::new();
    file.read_to_string(&mut text).expect("a log");
    let event: Value = serde_json::from_str(text.trim_end()).expect("one event");
    let expected = (&json!("list"), &json!("ResponseComplete"));
    assert_eq!((&event["verb"], &event["stage"]), expected);
    assert!(hub.server.audit_events().is_empty());
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
    let known = version(&list);
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
    assert_eq!(events.kind_and_name().await, ("ADDED".to_owned(), "h".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn answers_are_delayed_and_the_clock_is_skewed() {
    let hub = Hub::new().await;
    hub.server.misbehave(Misbehaviour::Delay {
        affected: Affected::default(),
        by: Duration::from_secs(2),
    });
    hub.server
        .misbehave(Misbehaviour::SkewClock(SignedDuration::from_hours(1)));
    let started = tokio::time::Instant::now();
    let created = hub.widget("a").await;
    assert_eq!(started.elapsed(), Duration::from_secs(2));
    assert_eq!(created["metadata"]["creationTimestamp"], "2026-11-20T11:00:02Z");
    hub.server.misbehave(Misbehaviour::Recover);
    hub.get(WIDGETS).await.expect(200);
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_watch_gets_a_bookmark_each_minute() {
    let hub = Hub::new().await;
    let created = hub.widget("a").await;
    let from = version(&created);
    let path = format!("{WIDGETS}?watch=1&allowWatchBookmarks=true&resourceVersion={from}");
    let mut events = hub.watch(&path).await;
    let started = tokio::time::Instant::now();
    hub.widget("b").await;
    assert_eq!(events.kind_and_name().await.1, "b");
    assert_eq!(events.kind_and_name().await.0, "BOOKMARK");
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_has_no_body_of_a_secret() {
    let hub = Hub::new().await;
    hub.server.set_audit_level(AuditLevel::RequestResponse);
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "canary"}});
    let secrets = "/api/v1/namespaces/default/secrets";
    hub.call("POST", secrets, &secret).await.expect(201);
    hub.widget("a").await;
    let log = hub.server.audit_log();
    assert!(
        log.contains("\"responseObject\"") && log.contains("\"secrets\""),
        "{log}"
    );
    assert!(!log.contains("canary") && !log.contains("Y2FuYXJ5"), "{log}");
}
