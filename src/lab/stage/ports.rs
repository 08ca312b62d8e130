//! Members on ports of this machine, each with an authority of its own.

use std::{collections::HashMap, convert::Infallible, io, sync::Arc};

use apiserver::Identity;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use collect::{
    driver::OfferError,
    stage::{Calls, Connection, MemberRequest, Members, NewAddress},
};
use evidence::MemberAddress;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use http::{HeaderMap, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::sleep,
};
use tokio_rustls::{
    LazyConfigAcceptor,
    rustls::{ServerConfig, server::Acceptor},
};

use super::answers::{Answer, answer, is_watch, unauthorized};

/// The address to listen on.
const ADDRESS: &str = "127.0.0.1";

/// Members on ports of this machine, until this is dropped. Needs a runtime in real time.
#[derive(Debug)]
pub struct OnPorts {
    calls: Arc<Calls>,
    ports: Mutex<HashMap<String, Port>>,
}

/// A port, and who answers there.
#[derive(Debug)]
struct Port {
    identities: Arc<Mutex<Vec<Known>>>,
    listening: JoinHandle<()>,
}

/// A member behind a port.
#[derive(Clone, Debug)]
struct Known {
    server_name: Option<String>,
    config: Arc<ServerConfig>,
}

impl OnPorts {
    /// Members that record their calls there.
    pub fn new(calls: Arc<Calls>) -> Self {
        Self {
            calls,
            ports: Mutex::default(),
        }
    }

    async fn address(&self, new: &NewAddress) -> io::Result<MemberAddress> {
        let hosts: Vec<&str> = match &new.server_name {
            // It answers to this name alone.
            Some(name) => vec![name],
            None => vec![ADDRESS, "localhost"],
        };
        let identity = Identity::new(&new.member, &hosts)?;
        let known = Known {
            server_name: new.server_name.clone(),
            config: Arc::new(identity.config),
        };
        let url = match &new.beside {
            Some(url) => url.clone(),
            None => self.listen().await?,
        };
        let address = MemberAddress {
            url,
            member: new.member.clone(),
            server_name: new.server_name.clone(),
            ca_data: BASE64_STANDARD.encode(&identity.ca),
        };
        self.calls.open(address.clone());
        if let Some(port) = self.ports.lock().get(&address.url) {
            port.identities.lock().push(known);
        }
        Ok(address)
    }

    /// Listens on a free port. Gives its URL.
    async fn listen(&self) -> io::Result<String> {
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let url = format!("https://{}", listener.local_addr()?);
        let identities = Arc::<Mutex<Vec<Known>>>::default();
        let server = Server {
            url: url.clone(),
            calls: Arc::clone(&self.calls),
            identities: Arc::clone(&identities),
        };
        let port = Port {
            identities,
            listening: tokio::spawn(server.serve(listener)),
        };
        self.ports.lock().insert(url.clone(), port);
        Ok(url)
    }
}

impl Members for OnPorts {
    fn open<'a>(&'a self, new: &'a NewAddress) -> BoxFuture<'a, Result<MemberAddress, OfferError>> {
        async move { self.address(new).await.map_err(|error| OfferError(error.into())) }.boxed()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// The server of a port.
#[derive(Clone)]
struct Server {
    url: String,
    calls: Arc<Calls>,
    identities: Arc<Mutex<Vec<Known>>>,
}

impl Server {
    async fn serve(self, listener: TcpListener) {
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
        let hello = match LazyConfigAcceptor::new(Acceptor::default(), stream).await {
            Ok(hello) => hello,
            Err(error) => return self.calls.broken(&self.url, None, &error.to_string()),
        };
        let server_name = hello.client_hello().server_name().map(str::to_owned);
        let Some(config) = self.config_for(server_name.as_deref()) else {
            return;
        };
        let stream = match hello.into_stream(config).await {
            Ok(stream) => stream,
            Err(error) => {
                return self
                    .calls
                    .broken(&self.url, server_name.as_deref(), &error.to_string());
            }
        };
        let connection = self.calls.connected(&self.url, server_name.as_deref());
        let answering = service_fn(|request: Request<Incoming>| {
            let response = self.respond(&connection, &request);
            async { Ok::<_, Infallible>(response) }
        });
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), answering)
            .await;
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
