//! Faults on demand have the described effect, and no other.

use std::time::Duration;

use apiserver::{Affected, Misbehaviour};

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
    let mut version = first["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version")
        .to_owned();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let mut events = hub
            .watch(&format!("{WIDGETS}?watch=1&resourceVersion={version}"))
            .await;
        for _ in 0..2.min(3 - seen.len()) {
            let (_, object) = events.next().await.expect("an event");
            version = object["metadata"]["resourceVersion"]
                .as_str()
                .expect("a version")
                .to_owned();
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
    assert_eq!(events.told().await.1, "b");
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    assert_eq!(events.told().await.1, "a");
    assert_eq!(started.elapsed(), Duration::from_secs(30), "both at once");
    hub.widget("c").await;
    assert_eq!(events.told().await.1, "c");
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_withheld() {
    let hub = Hub::new().await;
    hub.server.misbehave(Misbehaviour::WithholdBookmarks);
    let list = hub.get(WIDGETS).await.expect(200);
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version");
    let query =
        format!("{WIDGETS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion={version}");
    let mut events = hub.watch(&query).await;
    hub.call("POST", "/api/v1/namespaces", &json!({"metadata": {"name": "n"}}))
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
    let from = |object: &Value| {
        let version = object["metadata"]["resourceVersion"].as_str().expect("a version");
        format!("{WIDGETS}?watch=1&resourceVersion={version}")
    };
    assert_eq!(hub.watch(&from(&second)).await.told().await.1, "c");
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
    std::io::Read::read_to_string(&mut file, &mut text).expect("a log");
    let event: Value = serde_json::from_str(text.trim_end()).expect("one event");
    assert_eq!(
        (&event["verb"], &event["stage"]),
        (&json!("list"), &json!("ResponseComplete"))
    );
    assert!(hub.server.audit_events().is_empty());
}
