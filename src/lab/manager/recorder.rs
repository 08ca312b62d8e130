//! A hub that accepts every request and records it, so that tests see what the manager sends, and when.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

/// A write, as the hub received it.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub at: Duration,
    pub method: http::Method,
    /// The path below the API version: `namespaces/n/clusterprofiles/x/status`.
    pub path: String,
    pub field_manager: String,
    pub body: Value,
}

/// The recording hub. Clones share the record.
#[derive(Clone, Default)]
pub(super) struct Recorder {
    received: Arc<Mutex<Vec<Received>>>,
    /// Refusals for the next requests, in order.
    refusals: Arc<Mutex<Vec<Value>>>,
}

impl Recorder {
    /// A client of this hub.
    pub(super) fn client(&self) -> kube::Client {
        let recorder = self.clone();
        let born = Instant::now();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let recorder = recorder.clone();
            async move {
                let received = receive(born, request).await?;
                Ok::<_, kube::Error>(recorder.answer(received))
            }
        });
        kube::Client::new(service, "default")
    }

    /// Answers the next requests with these statuses.
    pub(super) fn refuse(&self, statuses: impl IntoIterator<Item = Value>) {
        self.refusals.lock().unwrap().extend(statuses);
    }

    /// What was received so far; forgets it.
    pub(super) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    fn answer(&self, received: Received) -> http::Response<Full<bytes::Bytes>> {
        let mut refusals = self.refusals.lock().unwrap();
        let (code, answer) = if refusals.is_empty() {
            (200, like(&received))
        } else {
            let refusal = refusals.remove(0);
            (refusal["code"].as_u64().unwrap_or(500), refusal)
        };
        self.received.lock().unwrap().push(received);
        http::Response::builder()
            .status(u16::try_from(code).unwrap())
            .body(Full::from(serde_json::to_vec(&answer).unwrap()))
            .unwrap()
    }
}

/// A refusal by this code and reason.
pub(super) fn refusal(code: u16, reason: &str, retry_after: u32) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "no", "reason": reason, "code": code, "details": {"retryAfterSeconds": retry_after},
    })
}

async fn receive(born: Instant, request: http::Request<Body>) -> Result<Received, kube::Error> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let path = parts.uri.path();
    let below = path.split_once("/v1alpha1/").or_else(|| path.split_once("/v1/"));
    let query = parts.uri.query().unwrap_or_default();
    Ok(Received {
        at: born.elapsed(),
        method: parts.method,
        path: below.map_or(path, |(_, rest)| rest).to_owned(),
        field_manager: query
            .split('&')
            .find_map(|pair| pair.strip_prefix("fieldManager="))
            .unwrap_or_default()
            .to_owned(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    })
}

/// The object that was sent, as a hub would return it.
fn like(received: &Received) -> Value {
    // A null in a merge patch removes the field, so the answer lacks it.
    let mut object = json!({});
    if received.method != http::Method::DELETE {
        json_patch::merge(&mut object, &received.body);
    }
    object["apiVersion"] = json!("v1");
    object["kind"] = json!("Any");
    object["metadata"]["generation"] = json!(1);
    object
}
