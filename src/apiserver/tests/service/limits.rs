//! Requests that ask for too much are refused, and change nothing.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Hub, WIDGETS};

const JSON_PATCH: &str = "application/json-patch+json";

async fn patch(hub: &Hub, kind: &str, body: &str) -> u16 {
    let path = format!("{WIDGETS}/a");
    let body = Bytes::copy_from_slice(body.as_bytes());
    hub.request("admin", "PATCH", &path, kind, body)
        .await
        .status()
        .as_u16()
}

#[tokio::test(start_paused = true)]
async fn copies_that_double_again_and_again_are_refused() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let before = hub.get(&format!("{WIDGETS}/a")).await.expect(200);
    // They come to 6 MB. A few more would come to gigabytes.
    let doubles: Vec<Value> = (0..14)
        .map(|n| json!({"op": "copy", "from": "/metadata", "path": format!("/metadata/again{n}")}))
        .collect();
    assert_eq!(
        patch(&hub, JSON_PATCH, &Value::from(doubles).to_string()).await,
        422
    );
    assert_eq!(hub.get(&format!("{WIDGETS}/a")).await.expect(200), before);
}

/// The object would be deeper than the stack: the server has to refuse it before it is made.
#[tokio::test(start_paused = true)]
async fn objects_of_any_depth_leave_the_server_alive() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let mut path = "/x".to_owned();
    let mut patches = vec![json!({"op": "add", "path": "/x", "value": {}})];
    // Each copy goes to the innermost place, and doubles the depth.
    for _ in 0..18 {
        patches.push(json!({"op": "copy", "from": "/x", "path": format!("{path}/x")}));
        path = format!("{path}{path}");
    }
    assert_eq!(
        patch(&hub, JSON_PATCH, &Value::from(patches).to_string()).await,
        422
    );
    // So does what is moved.
    let values = 60;
    let deep = |leaf: &str| format!("{}{leaf}{}", r#"{"x":"#.repeat(values), "}".repeat(values));
    let inner = "/x".repeat(values);
    let moves: String = (0..50)
        .map(|n| {
            format!(r#"{{"op":"add","path":"/y{n}","value":{}}},{{"op":"move","from":"/y{n}","path":"{}{inner}"}}"#, deep("{}"), "/x".repeat(n * values))
        })
        .collect::<Vec<_>>()
        .join(",");
    assert_eq!(patch(&hub, JSON_PATCH, &format!("[{moves}]")).await, 422);
    for depth in [100, 130, 500, 100_000] {
        for (open, close) in [("[", "]"), (r#"{"x":"#, "}")] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for (kind, options) in [
                ("application/merge-patch+json", ""),
                ("application/apply-patch+yaml", "?fieldManager=me&force=true"),
            ] {
                let body = format!(
                    r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"free":{{"x":{nested}}}}}}}"#
                );
                let path = format!("{WIDGETS}/a{options}");
                let answer = hub.send("admin", "PATCH", &path, kind, Bytes::from(body)).await;
                assert_eq!(
                    answer.code == 200,
                    depth == 100,
                    "{depth} {open} {kind}: {}",
                    answer.body
                );
            }
        }
        // What was stored is read again.
        assert!(hub.get(&format!("{WIDGETS}/a")).await.expect(200)["spec"].is_object());
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_etcd_would_refuse_are_not_stored() {
    let hub = Hub::new().await;
    hub.widget("a").await;
    let text = |length: usize| {
        json!({"metadata": {"labels": {}}, "spec": {"free": {"x": "x".repeat(length)}}}).to_string()
    };
    let merge = "application/merge-patch+json";
    assert_eq!(patch(&hub, merge, &text(1_400_000)).await, 200);
    let before = hub.get(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(patch(&hub, merge, &text(1_600_000)).await, 500);
    assert_eq!(hub.get(&format!("{WIDGETS}/a")).await.expect(200), before);
    assert_eq!(patch(&hub, merge, &text(3_200_000)).await, 413);
}
