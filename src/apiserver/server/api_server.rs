//! The server's public face.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    fs::File,
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response,
    header::{AUTHORIZATION, USER_AGENT},
};
use http_body::Body;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use serde_json::Value;
use tokio::net::TcpListener;
use tower::{BoxError, Service, util::MapRequest};

use crate::{
    about::{AuditLevel, Misbehaviour},
    access::{rbac, rbac::bootstrap_objects, user::User},
    clock::ServerClock,
    context::ServerState,
    request::ResponseBody,
    server::service,
    store::storage::Storage,
};

/// The namespaces that exist from the start.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// An in-process Kubernetes API server. Clones are handles to the same server.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(crate) state: Arc<ServerState>,
}

/// What a server has stored, from [`ApiServer::back_up`].
#[derive(Debug)]
pub struct Backup(Storage);

impl ApiServer {
    /// The `gitVersion` that a server reports unless [`ApiServer::set_version`] says otherwise.
    pub const VERSION: &str = "v1.36.0+in-process";

    /// The user that every server knows. A member of `system:masters`, it may do everything.
    pub const ADMIN: &str = "admin";

    /// A server with the initial namespaces, roles and bindings, and one user: [`ApiServer::ADMIN`].
    pub fn new(clock: ServerClock) -> Self {
        let server = Self {
            state: Arc::new(ServerState::new(clock)),
        };
        server.set_version(Self::VERSION);
        server.add_user(User::master(Self::ADMIN));
        for name in NAMESPACES {
            server.state.place_namespace(name);
        }
        for (plural, object) in bootstrap_objects() {
            server.place((rbac::GROUP, plural), object);
        }
        server
    }

    /// Adds a user, or replaces the one of that name. [`ApiServer::token`] is the user's bearer token.
    pub fn add_user(&self, user: User) {
        self.add_token(&Self::token(&user.name), user);
    }

    /// Lets `token` authenticate `user`, besides the user's other tokens.
    pub fn add_token(&self, token: &str, user: User) {
        self.state.add_token(token, user);
    }

    /// Sets the `gitVersion` that the server reports.
    pub fn set_version(&self, version: &str) {
        self.state.about.lock().version = version.to_owned();
    }

    /// Sets which health checks fail, for example `etcd` or `poststarthook/rbac/bootstrap-roles`.
    pub fn set_failing_checks(&self, checks: BTreeSet<String>) {
        self.state.about.lock().failing = checks;
    }

    /// The bearer token of a user: `in-process-` and the name. Not a secret: it follows from the name.
    /// Serve only tests with it.
    pub fn token(user: &str) -> String {
        format!("in-process-{user}")
    }

    /// An in-process client for `user`. Its User-Agent is the user's name with version `v0`.
    pub fn client(&self, user: &str) -> kube::Client {
        self.client_as(user, &format!("{user}/v0"))
    }

    /// An in-process client for `user` with this User-Agent.
    pub fn client_as(&self, user: &str, user_agent: &str) -> kube::Client {
        kube::Client::new(self.seen_with(&Self::token(user), user_agent), "default")
    }

    /// The service behind an in-process client that sends this bearer token and this User-Agent.
    pub fn seen_with(
        &self,
        token: &str,
        agent: &str,
    ) -> MapRequest<
        Self,
        impl FnMut(Request<kube::client::Body>) -> Request<kube::client::Body> + Clone + use<>,
    > {
        let headers = [
            (AUTHORIZATION, format!("Bearer {token}")),
            (USER_AGENT, agent.to_owned()),
        ];
        let headers = headers.map(|(name, value)| Some((name, HeaderValue::try_from(value).ok()?)));
        MapRequest::new(self.clone(), move |mut request: Request<_>| {
            for (name, value) in headers.iter().flatten() {
                // A client that acts for another program says so itself.
                if *name != USER_AGENT || !request.headers().contains_key(USER_AGENT) {
                    request.headers_mut().insert(name, value.clone());
                }
            }
            request
        })
    }

    /// Stores `object` without any check, in place of the one of its name. It needs `apiVersion`, `kind` and
    /// `metadata.name`. `resource` is the group and the plural.
    pub fn place(&self, resource: (&str, &str), object: Value) {
        self.state.place(resource, object);
    }

    /// Removes an object without any check, if it exists.
    pub fn withdraw(&self, resource: (&str, &str), namespace: &str, name: &str) {
        self.state.withdraw(resource, namespace, name);
    }

    /// Serves what a CustomResourceDefinition defines, as if it had been created and accepted long ago. Does nothing if
    /// the definition is invalid.
    pub fn define(&self, definition: Value) {
        self.state.define(definition);
    }

    /// Removes a CustomResourceDefinition and all objects of its kind.
    pub fn undefine(&self, name: &str) {
        self.state.undefine(name);
    }

    /// The audit events so far: `audit.k8s.io/v1` Event objects, oldest first.
    pub fn audit_events(&self) -> Vec<Value> {
        self.state.audit.lock().kept.clone()
    }

    /// The audit log as a file of JSON lines.
    pub fn audit_log(&self) -> String {
        let events = self.audit_events();
        events.iter().map(|event| format!("{event}\n")).collect()
    }

    /// Writes audit events to `file`, one a line, or drops them. From now on none are kept in memory, where those of a
    /// server that runs for long would pile up.
    pub fn send_audit_log(&self, file: Option<File>) {
        self.state.audit.lock().send_to(file);
    }

    /// Sets how much audit events tell from now on.
    pub fn set_audit_level(&self, level: AuditLevel) {
        self.state.audit.lock().level = level;
    }

    /// Makes the server misbehave.
    pub fn misbehave(&self, misbehaviour: Misbehaviour) {
        match misbehaviour {
            Misbehaviour::DropWatches => self.state.drops.send_modify(|drops| *drops += 1),
            Misbehaviour::Remember(changes) => self.state.storage().remember(changes),
            Misbehaviour::CompactHistory => self.state.storage().compact(),
            Misbehaviour::Recover => self.state.faults.recover(),
            lasting => self.state.faults.add(lasting),
        }
    }

    /// Copies everything that is stored, as a backup of etcd does.
    pub fn back_up(&self) -> Backup {
        Backup(self.state.storage().copy())
    }

    /// Goes back to a backup, as a restore of etcd does: all watches end, and resourceVersions are given out again. Users,
    /// faults and the audit log stay.
    pub fn restore(&self, backup: &Backup) {
        *self.state.storage() = backup.0.copy();
        self.misbehave(Misbehaviour::DropWatches);
    }

    /// Serves plain HTTP/1.1 on `listener` until accepting fails. Needs a runtime in real time: over a socket, tokio's
    /// paused clock loses events.
    ///
    /// # Errors
    /// When the listener accepts no more connections.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept().await?;
            let service = TowerToHyperService::new(self.clone());
            tokio::spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                // A client that disconnects does not affect other clients.
                let _ = connection.await;
            });
        }
    }
}

impl<B> Service<Request<B>> for ApiServer
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let state = self.state.clone();
        Box::pin(async move { Ok(service::answer(&state, request).await) })
    }
}
