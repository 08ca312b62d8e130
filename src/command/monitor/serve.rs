//! Serves metrics, health and the report over HTTP.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use report::escape;
use tokio::{
    net::TcpListener,
    task::{AbortHandle, spawn_blocking},
    time::{sleep, timeout},
};

use super::{
    exposition::expose,
    hosts::Hosts,
    status::{Shared, Shown},
};

/// How many connections are served at a time. Further ones take the place of the oldest: who holds many must not keep
/// probes and Prometheus waiting.
const CONNECTIONS: usize = 64;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// How long a connection may last in all, so that none is held for ever.
const LIFE: Duration = Duration::from_secs(20);
/// How long to wait when no connection can be taken, as when there are too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves for as long as it is polled.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>, hosts: Hosts) -> Infallible {
    let hosts = Arc::new(hosts);
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let (shared, hosts) = (Arc::clone(&shared), Arc::clone(&hosts));
        let served = tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let (shared, hosts) = (Arc::clone(&shared), Arc::clone(&hosts));
                async move { Ok::<_, Infallible>(respond(&shared, &hosts, &request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                // A client that does not read holds its place for one answer.
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A client that breaks off is its own affair.
            let _ = timeout(LIFE, connection).await;
        });
        open.push_back(served.abort_handle());
    }
}

/// Answers one request.
pub async fn respond<B>(shared: &Shared, hosts: &Hosts, request: &Request<B>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    // It says nothing, and probes may go by any name.
    if path != "/healthz" && !hosts.accept(request.uri(), request.headers()) {
        let why = "this name is not served: give it to the monitor with --allowed-host\n";
        return text(StatusCode::MISDIRECTED_REQUEST, why.to_owned());
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is served\n".to_owned());
        let allowed = HeaderValue::from_static("GET, HEAD");
        refused.headers_mut().insert(header::ALLOW, allowed);
        return refused;
    }
    match path {
        "/metrics" => metrics(&shared.shown()),
        "/healthz" => text(StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => ready(&shared.shown()),
        "/" => page(shared).await,
        _ => text(
            StatusCode::NOT_FOUND,
            "there are /, /metrics, /healthz and /readyz\n".to_owned(),
        ),
    }
}

fn metrics(shown: &Shown) -> Response<Full<Bytes>> {
    match expose(shown) {
        Ok(metrics) => answer(StatusCode::OK, prometheus::TEXT_FORMAT, metrics.into()),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn ready(shown: &Shown) -> Response<Full<Bytes>> {
    refusal(shown).unwrap_or_else(|| text(StatusCode::OK, "ok\n".to_owned()))
}

fn unready(why: &str) -> Response<Full<Bytes>> {
    text(
        StatusCode::SERVICE_UNAVAILABLE,
        format!("not ready: {}\n", escape::line(why)),
    )
}

/// The answer while verdicts are not fresh.
fn refusal(shown: &Shown) -> Option<Response<Full<Bytes>>> {
    shown.unready.as_deref().map(unready)
}

/// The report of the last judgement. It is rendered by one request at a time, and others take what that has made.
async fn page(shared: &Shared) -> Response<Full<Bytes>> {
    if let Some(refusal) = refusal(&shared.shown()) {
        return refusal;
    }
    let Some(observation) = shared.observation() else {
        return unready("the hub is not observed yet");
    };
    let mut guard = observation.lock_owned().await;
    let mut html = guard.ready_page();
    if html.is_none() {
        let rendering = spawn_blocking(move || (guard.page(), guard));
        let Ok(rendered) = rendering.await else {
            return unready("the report could not be rendered");
        };
        (html, guard) = rendered;
    }
    // All of that took its time. Nothing is judged before the page is let go.
    let refusal = refusal(&shared.shown());
    drop(guard);
    if let Some(refusal) = refusal {
        return refusal;
    }
    match html {
        Some(html) => answer(StatusCode::OK, "text/html; charset=utf-8", html),
        None => unready("nothing was judged yet"),
    }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    answer(status, "text/plain; charset=utf-8", text.into())
}

fn answer(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The page has a policy of its own, which cannot say this. Of two, both hold.
        (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
