//! Members on ports of this machine, each with an authority of its own, and proxies that lead to them.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::Arc,
};

use apiserver::{ApiServer, ResponseBody, ServerIdentity};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use collect::{
    driver::OfferError,
    testbed::{Arrival, Calls, MemberAddresses, NewAddress, OpenConnection},
};
use evidence::MemberAddress;
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Empty;
use hyper::{body::Incoming, server::conn::http1, service::service_fn, upgrade};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::{
    LazyConfigAcceptor,
    rustls::{ServerConfig, server::Acceptor},
};
use tower::Service as _;

use crate::{crd, member::accept};

/// The address to listen on.
const ADDRESS: &str = "127.0.0.1";
/// The version that members report.
const VERSION: &str = "v1.34.2";
/// What consumers look for on their members, besides what each API server has: group, version, plural and kind.
const KINDS: [[&str; 4]; 5] = [
    ["", "v1", "pods", "Pod"],
    ["apps", "v1", "deployments", "Deployment"],
    ["batch", "v1", "jobs", "Job"],
    ["kueue.x-k8s.io", "v1beta2", "workloads", "Workload"],
    ["kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue"],
];

/// Members on ports of this machine, until this is dropped. Needs a runtime in real time.
#[derive(Debug)]
pub struct OnPorts {
    calls: Arc<Calls>,
    ports: Mutex<HashMap<String, Port>>,
    proxies: Mutex<Vec<Listening>>,
    proxied: Proxied,
}

/// The local addresses of the proxies' connections.
type Proxied = Arc<Mutex<HashSet<SocketAddr>>>;

/// A port, and the members that answer there.
#[derive(Debug)]
struct Port {
    members: Arc<Mutex<Vec<PortMember>>>,
    _listening: Listening,
}

/// A member behind a port.
#[derive(Clone, Debug)]
struct PortMember {
    server_name: Option<String>,
    config: Arc<ServerConfig>,
}

/// A task that listens, until this is dropped.
#[derive(Debug)]
struct Listening(JoinHandle<()>);

impl OnPorts {
    /// Members that record their calls there.
    pub fn new(calls: Arc<Calls>) -> Self {
        Self {
            calls,
            ports: Mutex::default(),
            proxies: Mutex::default(),
            proxied: Arc::default(),
        }
    }

    async fn address(&self, new: &NewAddress) -> io::Result<MemberAddress> {
        let hosts: Vec<&str> = match &new.server_name {
            // It answers to this name alone.
            Some(name) => vec![name],
            None => vec![ADDRESS, "localhost"],
        };
        let identity = ServerIdentity::new(&new.member, &hosts)?;
        let member = PortMember {
            server_name: new.server_name.clone(),
            config: Arc::new(identity.config),
        };
        let url = match &new.shared_url {
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
            port.members.lock().push(member);
        }
        Ok(address)
    }

    /// Listens on a free port. Returns its URL.
    async fn listen(&self) -> io::Result<String> {
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let url = format!("https://{}", listener.local_addr()?);
        let members = Arc::<Mutex<Vec<PortMember>>>::default();
        let server = MemberServer {
            url: url.clone(),
            api: api(),
            calls: Arc::clone(&self.calls),
            members: Arc::clone(&members),
            proxied: Arc::clone(&self.proxied),
        };
        let serve = accept(listener, move |stream| server.clone().connection(stream));
        let port = Port {
            members,
            _listening: Listening(tokio::spawn(serve)),
        };
        self.ports.lock().insert(url.clone(), port);
        Ok(url)
    }

    /// Opens a proxy on a free port. Returns its URL.
    async fn listen_as_proxy(&self) -> io::Result<String> {
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (proxy, calls) = (url.clone(), Arc::clone(&self.calls));
        let proxied = Arc::clone(&self.proxied);
        let serve = accept(listener, move |stream| {
            proxy_connection(stream, proxy.clone(), Arc::clone(&calls), Arc::clone(&proxied))
        });
        self.proxies.lock().push(Listening(tokio::spawn(serve)));
        Ok(url)
    }
}

impl MemberAddresses for OnPorts {
    fn open<'a>(&'a self, new: &'a NewAddress) -> BoxFuture<'a, Result<MemberAddress, OfferError>> {
        async move { self.address(new).await.map_err(|error| OfferError(error.into())) }.boxed()
    }

    fn open_proxy(&self) -> BoxFuture<'_, Result<String, OfferError>> {
        async {
            self.listen_as_proxy()
                .await
                .map_err(|error| OfferError(error.into()))
        }
        .boxed()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The API server behind a port.
fn api() -> ApiServer {
    let api = ApiServer::new(apiserver::ServerClock::system());
    // No client reads a member's audit log.
    api.send_audit_log(None);
    api.set_version(VERSION);
    for [group, version, plural, kind] in KINDS {
        api.define(crd::of_any_shape(group, version, plural, kind));
    }
    api
}

/// Answers on a port: as the member whose server name the client sends.
#[derive(Clone)]
struct MemberServer {
    url: String,
    api: ApiServer,
    calls: Arc<Calls>,
    members: Arc<Mutex<Vec<PortMember>>>,
    proxied: Proxied,
}

impl MemberServer {
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
            // The proxy records its address before it passes on the hello.
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
    async fn requests(&self, stream: impl AsyncRead + AsyncWrite + Unpin, connection: OpenConnection) {
        let answer = service_fn(|request| self.respond(&connection, request));
        tokio::select! {
            _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer) => {}
            () = connection.ended() => {}
        }
    }

    /// The certificate for a server name; without one for it, the first, as servers do.
    fn config_for(&self, server_name: Option<&str>) -> Option<Arc<ServerConfig>> {
        let members = self.members.lock();
        let member = members
            .iter()
            .find(|member| member.server_name.as_deref() == server_name);
        Some(Arc::clone(&member.or(members.first())?.config))
    }

    /// Records a request, and answers it. A client with a credential of the member may do everything.
    async fn respond(
        &self,
        connection: &OpenConnection,
        mut request: Request<Incoming>,
    ) -> Result<Response<ResponseBody>, Infallible> {
        let query = request.uri().query().unwrap_or_default();
        let authorization = request
            .headers()
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let watch = query
            .split('&')
            .any(|pair| pair == "watch=1" || pair == "watch=true");
        let token = authorization.and_then(|value| value.strip_prefix("Bearer "));
        let (method, path) = (request.method().as_str(), request.uri().path());
        let code = self.calls.requested(connection, method, path, watch, token);
        let user = if code == StatusCode::UNAUTHORIZED.as_u16() {
            // The API server refuses it.
            "unknown".to_owned()
        } else {
            ApiServer::token(ADMIN)
        };
        if let Ok(authorization) = HeaderValue::try_from(format!("Bearer {user}")) {
            request.headers_mut().insert(header::AUTHORIZATION, authorization);
        }
        self.api.clone().call(request).await
    }
}

/// The user of the API server that may do everything.
const ADMIN: &str = "admin";

/// Serves one connection to a proxy, and the tunnels that it opens. Records for whom it opens them.
async fn proxy_connection(stream: TcpStream, url: String, calls: Arc<Calls>, proxied: Proxied) {
    let tunnels = Mutex::new(JoinSet::new());
    let answer = service_fn(|request: Request<Incoming>| {
        let mut response = Response::new(Empty::<Bytes>::new());
        match request.uri().authority().map(ToString::to_string) {
            Some(host) if request.method() == Method::CONNECT => {
                calls.proxied(&url, &host);
                tunnels.lock().spawn(tunnel(request, host, Arc::clone(&proxied)));
            }
            _ => *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED,
        }
        async { Ok::<_, Infallible>(response) }
    });
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades()
        .await;
    tunnels.into_inner().join_all().await;
}

/// Connects a client to a host, once it has its answer. The member knows the connection by its local address.
async fn tunnel(request: Request<Incoming>, host: String, proxied: Proxied) {
    if let (Ok(client), Ok(mut member)) = (upgrade::on(request).await, TcpStream::connect(host).await) {
        let Ok(local) = member.local_addr() else { return };
        proxied.lock().insert(local);
        let _ = copy_bidirectional(&mut TokioIo::new(client), &mut member).await;
        proxied.lock().remove(&local);
    }
}
