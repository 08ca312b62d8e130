//! Who answers on a port: the members behind it, told apart by server names.

use std::{collections::HashSet, convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use collect::testbed::{Arrival, Calls, Connection, MemberRequest};
use futures::{FutureExt as _, StreamExt as _, stream};
use http::{HeaderMap, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};
use tokio_rustls::{
    LazyConfigAcceptor,
    rustls::{ServerConfig, server::Acceptor},
};

use super::answers::{Answer, answer, is_watch, unauthorized};

/// A member behind a port.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) server_name: Option<String>,
    pub(super) config: Arc<ServerConfig>,
}

/// The server of a port.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) url: String,
    pub(super) calls: Arc<Calls>,
    pub(super) identities: Arc<Mutex<Vec<Known>>>,
    /// The local addresses of the proxy's connections.
    pub(super) proxied: Arc<Mutex<HashSet<SocketAddr>>>,
}

impl Server {
    pub(super) async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(self.clone().connection(stream));
                    }
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }

    /// Serves one connection. Returns when the client goes away, and when it breaks the protocol.
    async fn connection(self, stream: TcpStream) {
        let peer = stream.peer_addr().ok();
        let without_hello = Arrival {
            url: &self.url,
            ..Arrival::default()
        };
        let hello = match LazyConfigAcceptor::new(Acceptor::default(), stream).await {
            Ok(hello) => hello,
            Err(error) => return self.calls.failed(without_hello, &error.to_string()),
        };
        let server_name = hello.client_hello().server_name().map(str::to_owned);
        let Some(config) = self.config_for(server_name.as_deref()) else {
            return;
        };
        let arrival = Arrival {
            server_name: server_name.as_deref(),
            hello: true,
            // The proxy notes its address before it passes on the hello.
            via_proxy: peer.is_some_and(|peer| self.proxied.lock().contains(&peer)),
            ..without_hello
        };
        let stream = match hello.into_stream(config).await {
            Ok(stream) => stream,
            Err(error) => return self.calls.failed(arrival, &error.to_string()),
        };
        let connection = self.calls.connected(arrival);
        self.requests(stream, connection).await;
    }

    /// Answers the requests on a connection, until one side ends it.
    async fn requests(&self, stream: impl AsyncRead + AsyncWrite + Unpin, connection: Connection) {
        let answering = service_fn(|request: Request<Incoming>| {
            let response = self.respond(&connection, &request);
            async { Ok::<_, Infallible>(response) }
        });
        let serving =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answering);
        tokio::select! {
            _ = serving => {}
            () = connection.ended() => {}
        }
    }

    /// The certificate for a server name; without one for it, the first, as servers do.
    fn config_for(&self, server_name: Option<&str>) -> Option<Arc<ServerConfig>> {
        let identities = self.identities.lock();
        let named = identities
            .iter()
            .find(|known| known.server_name.as_deref() == server_name);
        let known = named.or(identities.first())?;
        Some(Arc::clone(&known.config))
    }

    fn respond(
        &self,
        connection: &Connection,
        request: &Request<Incoming>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        let uri = request.uri();
        let asked = MemberRequest {
            method: request.method().as_str(),
            path: uri.path(),
            watch: is_watch(uri),
            token: token(request.headers()),
        };
        let answer = match self.calls.requested(connection, asked) {
            401 => unauthorized(),
            _ => answer(asked.method, uri),
        };
        let (code, body) = match answer {
            Answer::Object(code, object) => {
                let body = http_body_util::Full::from(object.to_string());
                (code, body.boxed())
            }
            Answer::Watch(first, duration) => {
                let first = stream::iter((!first.is_empty()).then_some(first));
                let end = sleep(duration).map(|()| Bytes::new()).into_stream();
                let frames = first.chain(end).map(|bytes| Ok(Frame::data(bytes)));
                (200, BodyExt::boxed(StreamBody::new(frames)))
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

/// The bearer token of a request.
fn token(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .strip_prefix("Bearer ")
}
