//! Fake members: clusters that live in this process, for managers to manage and for the suite to query.
//!
//! A [`FakeMember`] is an API server in this process, with what a manager reads from a member cluster: a version, health
//! checks that can fail one by one, nodes, custom resource definitions, ClusterProperties and the leases of its control
//! plane. [`FakeMember::alter`] changes its state, and can make the member unreachable.
//!
//! In process it answers under tokio's paused clock; [`FakeMember::serve`] offers it over TLS on the loopback, in real
//! time.

mod state;

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use apiserver::{
    ApiServer, Endpoint, Loopback, Misbehaviour, PolicyRule, ResponseBody, User, new_token, serve_tls,
};
use bytes::Bytes;
use collect::clock::Clock;
use http::{HeaderValue, Request, Response, header};
use http_body::Body;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use state::{apply_objects, renew_leases, withdraw_leases};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;
use tower::Service;

pub use self::state::{Leases, MemberProperty, MemberState};

/// How often a living control plane renews its leases, in seconds.
const RENEWAL: i64 = 2;
/// How many changes of each kind its server remembers: enough for a watch that is never far behind.
const HISTORY: usize = 200;
/// The age of leases that were stale from the start.
const LONG_STALE: SignedDuration = SignedDuration::from_hours(1);

/// A fake member. Clones are the same member.
#[derive(Clone)]
pub struct FakeMember {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    clock: Clock,
    server: ApiServer,
    state: Mutex<MemberState>,
    /// Ends open connections when the member becomes unreachable.
    reachable: watch::Sender<bool>,
}

impl FakeMember {
    /// May do everything: the user of a manager.
    pub const ADMIN: &str = "admin";
    /// May read what the suite asks for.
    pub const ASKER: &str = "asker";
    /// Has few rights, as a consumer should.
    pub const CONSUMER: &str = "consumer";
    /// The user of issued tokens.
    pub const ISSUED: &str = "issued";
    /// Has all rights that can be granted, as a consumer should not.
    pub const CLUSTER_ADMIN: &str = "cluster-admin";

    /// Makes a member in this state. Its time is that of `clock`.
    pub fn new(name: &str, clock: Clock, state: MemberState) -> Self {
        let server = crate::server(clock);
        // No client reads a member's audit log, and its leases are renewed for as long as it is asked.
        server.send_audit_log(None);
        server.misbehave(Misbehaviour::Remember(HISTORY));
        for user in [
            User::with_rules(Self::ASKER, asker_rules()),
            User::with_rules(Self::CONSUMER, consumer_rules()),
            User::with_rules(Self::CLUSTER_ADMIN, vec![everything()]),
        ] {
            server.add_user(user);
        }
        apply_objects(&server, None, &state);
        apply(&server, &state);
        match state.leases {
            Leases::Stale => renew_leases(&server, clock.now() - LONG_STALE),
            Leases::Alive | Leases::Absent => {}
        }
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                clock,
                reachable: watch::Sender::new(!state.unreachable),
                server,
                state: Mutex::new(state),
            }),
        }
    }

    /// The name that it was given.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Changes its state, with immediate effect.
    pub fn alter(&self, change: impl FnOnce(&mut MemberState)) {
        let mut state = self.inner.state.lock();
        let before = state.clone();
        change(&mut state);
        let server = &self.inner.server;
        apply_objects(server, Some(&before), &state);
        apply(server, &state);
        match (before.leases, state.leases) {
            (Leases::Alive, Leases::Stale) => renew_leases(server, self.last_renewal()),
            (Leases::Absent, Leases::Stale) => renew_leases(server, self.inner.clock.now() - LONG_STALE),
            (_, Leases::Absent) => withdraw_leases(server),
            _ => {}
        }
        self.inner.reachable.send_if_modified(|reachable| {
            let changed = *reachable == state.unreachable;
            *reachable = !state.unreachable;
            changed
        });
        if state.unreachable {
            server.misbehave(Misbehaviour::DropWatches);
        }
    }

    /// Accepts this bearer token for a user named `called`, with the rights of `user`, a user that each member knows.
    pub fn admit(&self, token: &str, called: &str, user: &str) {
        let rules = match user {
            Self::CLUSTER_ADMIN => vec![rule(&["*"], &["*"], &["*"], &["*"])],
            Self::ASKER => asker_rules(),
            _ => consumer_rules(),
        };
        self.inner
            .server
            .add_token(token, User::with_rules(called, rules));
    }

    /// Issues a new token that may read what the suite asks for.
    pub fn issue(&self) -> String {
        let token = new_token();
        self.admit(&token, Self::ISSUED, Self::ASKER);
        token
    }

    fn server(&self) -> ApiServer {
        self.inner.server.clone()
    }

    fn is_reachable(&self) -> bool {
        *self.inner.reachable.borrow()
    }

    /// Renews the leases if `path` reads them: renewing them every two seconds for half an hour would cost far more.
    fn freshen(&self, path: &str) {
        if path.starts_with("/apis/coordination.k8s.io/") && self.inner.state.lock().leases == Leases::Alive {
            renew_leases(&self.inner.server, self.last_renewal());
        }
    }

    fn last_renewal(&self) -> Timestamp {
        let second = self.inner.clock.now().as_second();
        Timestamp::from_second(second - second.rem_euclid(RENEWAL)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl std::fmt::Debug for FakeMember {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeMember")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

/// Applies the parts of the state that are not objects.
fn apply(server: &ApiServer, state: &MemberState) {
    server.set_version(&state.version);
    server.set_failing_checks(state.failing_checks.clone());
}

/// Reads what the suite asks members for.
fn asker_rules() -> Vec<PolicyRule> {
    let read =
        |groups: &[&str], resources: &[&str]| rule(&["get", "list", "watch"], groups, resources, &["*"]);
    vec![
        read(&[""], &["nodes"]),
        read(&["coordination.k8s.io"], &["leases"]),
        read(&["apiextensions.k8s.io"], &["customresourcedefinitions"]),
        read(&["about.k8s.io"], &["clusterproperties"]),
    ]
}

/// Reads ConfigMaps in one namespace.
fn consumer_rules() -> Vec<PolicyRule> {
    vec![rule(
        &["get", "list", "watch"],
        &[""],
        &["configmaps"],
        &["default"],
    )]
}

/// All rights that can be granted, on URLs outside the resources too.
fn everything() -> PolicyRule {
    PolicyRule {
        non_resource_urls: vec!["*".to_owned()],
        ..rule(&["*"], &["*"], &["*"], &["*"])
    }
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], namespaces: &[&str]) -> PolicyRule {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    PolicyRule {
        verbs: texts(verbs),
        api_groups: texts(groups),
        resources: texts(resources),
        namespaces: texts(namespaces),
        ..PolicyRule::default()
    }
}

impl FakeMember {
    /// A client in process for `user`, with this User-Agent.
    pub fn client_as(&self, user: &str, user_agent: &str) -> kube::Client {
        self.client_with_token(&ApiServer::token(user), user_agent)
    }

    /// A client in process with this bearer token. The member refuses a token that it does not know.
    pub fn client_with_token(&self, token: &str, user_agent: &str) -> kube::Client {
        let inner = self.server().seen_with(token, user_agent);
        kube::Client::new(self.service(inner), "default")
    }

    /// The member's service: that of its API server, while the member is reachable.
    fn service<S>(&self, inner: S) -> MemberService<S> {
        MemberService {
            member: self.clone(),
            inner,
        }
    }
}

/// Applies a fake member's state to requests to its API server, `inner`.
#[derive(Clone)]
struct MemberService<S> {
    member: FakeMember,
    inner: S,
}

impl<S, B> Service<Request<B>> for MemberService<S>
where
    S: Service<Request<B>, Response = Response<ResponseBody>, Error = Infallible, Future: Send + 'static>,
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if !self.member.is_reachable() {
            return Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) });
        }
        self.member.freshen(request.uri().path());
        let now = self.member.inner.clock.now();
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let Ok(mut response) = answer.await;
            if let Ok(date) = HeaderValue::from_str(&date) {
                response.headers_mut().insert(header::DATE, date);
            }
            Ok(response)
        })
    }
}

/// A fake member that listens on the loopback until this is dropped.
#[derive(Debug)]
pub struct Served {
    endpoint: Endpoint,
    listening: JoinHandle<()>,
}

impl FakeMember {
    /// Listens on a free port of 127.0.0.1. Needs a runtime in real time.
    ///
    /// When the member becomes unreachable, open connections end, and new ones are closed immediately.
    ///
    /// # Errors
    /// When there is no port to listen on.
    pub async fn serve(&self) -> io::Result<Served> {
        let loopback = Loopback::bind(self.name(), 0).await?;
        let (member, acceptor) = (self.clone(), loopback.acceptor.clone());
        let endpoint = loopback.endpoint().clone();
        let serve = accept(loopback.listener, move |stream| {
            connection(member.clone(), stream, acceptor.clone())
        });
        Ok(Served {
            endpoint,
            listening: tokio::spawn(serve),
        })
    }
}

impl Served {
    /// The URL of the API server.
    pub fn server(&self) -> String {
        self.endpoint.server()
    }

    /// The certificate of its authority, in PEM.
    pub fn ca(&self) -> &str {
        self.endpoint.ca()
    }

    /// A kubeconfig for the user who may do everything.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_as(FakeMember::ADMIN)
    }

    /// A kubeconfig for one of the fake member's users.
    pub fn kubeconfig_as(&self, user: &str) -> String {
        self.endpoint.kubeconfig_as(user)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Serves each connection to a listener in a task.
pub(crate) async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> F + Send,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection while the member is reachable.
async fn connection(member: FakeMember, stream: TcpStream, acceptor: TlsAcceptor) {
    let mut reachable = member.inner.reachable.subscribe();
    let speaking = serve_tls(stream, acceptor, member.service(member.server()));
    tokio::select! {
        () = speaking => {}
        _ = reachable.wait_for(|reachable| !reachable) => {}
    }
}

#[cfg(test)]
mod tests;
