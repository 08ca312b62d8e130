//! Members that repeat the credentials that they receive, over TLS on the loopback.

use std::{
    convert::Infallible,
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use apiserver::{Endpoint, Loopback, ResponseBody, serve_tls};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::json;

/// Where a member repeats the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// In refusals.
    Refusing,
    /// In the address of a redirect.
    Redirecting,
    /// In all its answers.
    Echoing,
}

/// A member that listens until the test ends.
pub struct EchoingMember {
    endpoint: Endpoint,
    has_requests: Arc<AtomicBool>,
}

impl EchoingMember {
    pub async fn new(manner: Manner) -> Self {
        let loopback = Loopback::bind("member", 0).await.expect("a port");
        let endpoint = loopback.endpoint().clone();
        let has_requests = Arc::new(AtomicBool::new(false));
        let called = Arc::clone(&has_requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = loopback.listener.accept().await {
                let called = Arc::clone(&called);
                let service = tower::service_fn(move |request| {
                    called.store(true, Ordering::Relaxed);
                    ready(Ok::<_, Infallible>(answer(manner, &request)))
                });
                tokio::spawn(serve_tls(stream, loopback.acceptor.clone(), service));
            }
        });
        Self {
            endpoint,
            has_requests,
        }
    }

    pub fn cluster(&self) -> String {
        let ca = BASE64.encode(self.endpoint.ca());
        format!("server: '{}', certificate-authority-data: {ca}", self.server())
    }

    pub fn server(&self) -> String {
        self.endpoint.server()
    }

    /// Whether a client with a credential has called.
    pub fn has_requests(&self) -> bool {
        self.has_requests.load(Ordering::Relaxed)
    }
}

fn answer(manner: Manner, request: &Request<Incoming>) -> Response<ResponseBody> {
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown
        .and_then(|value| value.to_str().ok())
        .unwrap_or("Bearer nothing");
    let token = shown.trim_start_matches("Bearer ").to_owned();
    let (code, body) = match (manner, request.uri().path()) {
        (Manner::Refusing, _) => {
            let message = format!("unknown: {shown}");
            (401, json!({"message": message, "reason": token}).to_string())
        }
        (Manner::Redirecting, _) => (302, format!("go to {token}")),
        (Manner::Echoing, "/readyz") => (500, format!("[-]{token} failed: {shown}\nreadyz check failed\n")),
        (Manner::Echoing, "/apis/about.k8s.io") => {
            (200, json!({"versions": [{"version": "v1"}]}).to_string())
        }
        (Manner::Echoing, _) => {
            let item = json!({"metadata": {"name": format!("a.{token}")}, "spec": {"value": token, "renewTime": token}});
            let everything = json!({
                "gitVersion": token, "metadata": {"resourceVersion": token}, "items": [item],
                "spec": {"renewTime": "2026-01-01T00:00:00Z", "holderIdentity": token},
                "status": {"allowed": true, "reason": token, "userInfo": {"username": token}},
            });
            (200, everything.to_string())
        }
    };
    let response = Response::builder()
        .status(code)
        .header(header::LOCATION, format!("https://127.0.0.1:1/?token={token}"))
        .header(header::WARNING, format!("299 - \"{token}\""))
        .header(header::WWW_AUTHENTICATE, shown);
    let body = Full::from(body).boxed_unsync();
    response.body(body).expect("a response")
}
