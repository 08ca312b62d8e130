//! Sends what another client changes on a hub during the run. Tests of the whole command use it too.

use http::{Method, Request, header};
use kube::Client;
use serde_json::Value;

/// Sends a request, and returns the answer.
pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> Result<Value, kube::Error> {
    let content_type = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, content_type)
        .body(body)
        .expect("a request");
    client.request(request).await
}
