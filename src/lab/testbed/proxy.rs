//! A proxy that notes for whom it makes a way.

use std::{collections::HashSet, convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use collect::testbed::Calls;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::{body::Incoming, service::service_fn, upgrade};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// Serves the proxy at that URL.
pub(super) async fn serve_proxy(
    listener: TcpListener,
    url: String,
    calls: Arc<Calls>,
    proxied: Arc<Mutex<HashSet<SocketAddr>>>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(stream, url.clone(), Arc::clone(&calls), Arc::clone(&proxied)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection, and the way that it asks for.
async fn connection(
    stream: TcpStream,
    url: String,
    calls: Arc<Calls>,
    proxied: Arc<Mutex<HashSet<SocketAddr>>>,
) {
    let ways = Mutex::new(JoinSet::new());
    let answering = service_fn(|request: Request<Incoming>| {
        let mut response = Response::new(Empty::<Bytes>::new());
        match request.uri().authority().map(ToString::to_string) {
            Some(host) if request.method() == Method::CONNECT => {
                calls.proxied(&url, &host);
                ways.lock().spawn(lead(request, host, Arc::clone(&proxied)));
            }
            _ => *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED,
        }
        async { Ok::<_, Infallible>(response) }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answering)
        .with_upgrades()
        .await;
    ways.into_inner().join_all().await;
}

/// Connects a client to a host, once it has its answer. The member knows the connection by its local address.
async fn lead(request: Request<Incoming>, host: String, proxied: Arc<Mutex<HashSet<SocketAddr>>>) {
    if let (Ok(client), Ok(mut member)) = (upgrade::on(request).await, TcpStream::connect(host).await) {
        let Ok(local) = member.local_addr() else { return };
        proxied.lock().insert(local);
        let _ = copy_bidirectional(&mut TokioIo::new(client), &mut member).await;
        proxied.lock().remove(&local);
    }
}
