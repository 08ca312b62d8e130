//! Members that repeat what they are shown, over TLS on the loopback.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// How a member repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// In refusals.
    Refusing,
    /// In where it sends one to.
    Redirecting,
    /// In all that it says.
    Echoing,
}

/// Such a member; it listens until the test ends.
pub struct Evil {
    address: SocketAddr,
    ca: String,
    asked: Arc<AtomicUsize>,
}

impl Evil {
    pub async fn new(manner: Manner) -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("an identity");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    continue;
                };
                let (acceptor, counter) = (acceptor.clone(), Arc::clone(&counter));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(move |request| {
                        counter.fetch_add(1, Ordering::Relaxed);
                        async move { Ok::<_, Infallible>(answer(manner, &request)) }
                    });
                    let _ = http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            address,
            ca: BASE64.encode(made.cert.pem()),
            asked,
        }
    }

    /// The fields of its cluster in a kubeconfig.
    pub fn cluster(&self) -> String {
        format!(
            "server: 'https://{}', certificate-authority-data: {}",
            self.address, self.ca
        )
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether anybody with a credential has come.
    pub fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }
}

fn answer(manner: Manner, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown
        .and_then(|value| value.to_str().ok())
        .unwrap_or("Bearer nothing");
    let token = shown.trim_start_matches("Bearer ").to_owned();
    let (code, body) = match (manner, request.uri().path()) {
        (Manner::Refusing, _) => (
            401,
            json!({"message": format!("unknown: {shown}"), "reason": token}).to_string(),
        ),
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
    response.body(Full::from(body)).expect("a response")
}
