//! What `tests/fidelity` cannot compare with a real API server, in process.

mod faults;
mod hostile;

use apiserver::{ApiServer, ResponseBody, ServerClock};
use bytes::Bytes;
use futures::StreamExt;
use http::Request;
use http_body_util::{BodyExt, BodyStream, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use tower::Service;

const WIDGETS: &str = "/apis/fidelity.example/v1/namespaces/default/widgets";

struct Hub {
    server: ApiServer,
}

struct Answer {
    code: u16,
    body: Value,
}

impl Answer {
    #[track_caller]
    fn expect(self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.body);
        self.body
    }
}

impl Hub {
    async fn new() -> Self {
        let start: Timestamp = "2026-11-20T10:00:00Z".parse().expect("a timestamp");
        let hub = Hub {
            server: ApiServer::new(ServerClock::starting_at(start)),
        };
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        hub.call("POST", definitions, &widget_definition())
            .await
            .expect(201);
        hub
    }

    async fn request(
        &self,
        user: &str,
        method: &str,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> http::Response<ResponseBody> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Authorization", format!("Bearer {}", ApiServer::token(user)))
            .header("User-Agent", "tester/1.0 (test)")
            .header("Content-Type", content_type)
            .body(Full::new(body))
            .expect("a request");
        let Ok(response) = self.server.clone().call(request).await;
        response
    }

    async fn send(&self, user: &str, method: &str, path: &str, content_type: &str, body: Bytes) -> Answer {
        let response = self.request(user, method, path, content_type, body).await;
        let code = response.status().as_u16();
        let Ok(body) = response.into_body().collect().await;
        let bytes = body.to_bytes();
        let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
        Answer {
            code,
            body: serde_json::from_slice(&bytes).unwrap_or_else(|_| text()),
        }
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = match body {
            Value::Null => Bytes::new(),
            body => body.to_string().into(),
        };
        self.send("admin", method, path, "application/json", body).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &Value::Null).await
    }

    async fn widget(&self, name: &str) -> Value {
        self.call("POST", WIDGETS, &widget(name)).await.expect(201)
    }

    async fn watch(&self, path: &str) -> Events {
        let json = "application/json";
        let response = self.request("admin", "GET", path, json, Bytes::new()).await;
        assert_eq!(response.status().as_u16(), 200);
        Events(BodyStream::new(response.into_body()))
    }
}

struct Events(BodyStream<ResponseBody>);

impl Events {
    /// The next event, `None` after the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        let Ok(frame) = self.0.next().await?;
        let data = frame.into_data().ok()?;
        let mut event: Value = serde_json::from_slice(&data).expect("an event");
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        Some((kind, event["object"].take()))
    }

    /// The next event's type and the name of its object.
    async fn kind_and_name(&mut self) -> (String, String) {
        let (kind, object) = self.next().await.expect("an event");
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        (kind, name.to_owned())
    }
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().expect("a version")
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "fidelity.example/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"},
    })
}

/// A CRD that uses every kind of check.
fn widget_definition() -> Value {
    let text = include_str!("../../fixtures/fidelity/crds/widgets.fidelity.example.yaml");
    serde_saphyr::from_str(text).expect("a definition")
}
