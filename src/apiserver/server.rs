//! The server itself: its parts, its users, its clock.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    Clock,
    about::{
        audit::{AuditLevel, AuditLog},
        health::About,
        metrics::Metrics,
        misbehaviour::{Faults, Misbehaviour},
    },
    access::auth::{User, Users},
    store::{builtin, storage::Storage},
};

/// The users that every server knows, all-powerful.
const MASTERS: [&str; 3] = ["admin", "conformance", "reference-manager"];
/// The user that every server knows, without rights until a role is bound to it.
const VIEWER: &str = "viewer";
/// What a server calls itself that nobody gave a version.
const VERSION: &str = "v1.36.0+lab";
/// The namespaces that exist from the start.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// An in-process Kubernetes API server. Copies are the same server.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    clock: Clock,
    storage: Mutex<Storage>,
    pub(super) users: Users,
    pub(super) audit: Mutex<AuditLog>,
    pub(super) faults: Faults,
    pub(super) about: Mutex<About>,
    pub(super) metrics: Metrics,
    /// Counts up when all watches shall end.
    pub(super) drops: watch::Sender<u64>,
    serial: AtomicU64,
}

impl ApiServer {
    /// A server with nothing in it but the initial namespaces and roles, and with the users `admin`, `conformance` and
    /// `reference-manager`, who may do everything, and `viewer`, who may do what everybody may.
    pub fn new(clock: Clock) -> Self {
        let mut storage = Storage::default();
        for resource in builtin::resources() {
            storage.serve(resource);
        }
        let server = Self {
            inner: Arc::new(Inner {
                clock,
                storage: Mutex::new(storage),
                users: Users::default(),
                audit: Mutex::default(),
                faults: Faults::default(),
                about: Mutex::default(),
                metrics: Metrics::default(),
                drops: watch::Sender::new(0),
                serial: AtomicU64::new(0),
            }),
        };
        server.set_version(VERSION);
        for name in MASTERS {
            server.add_user(User::master(name));
        }
        server.add_user(User::with_rules(VIEWER, Vec::new()));
        for name in NAMESPACES {
            server.place_namespace(name);
        }
        server.place_roles();
        server
    }

    /// Adds a user, or replaces the one of that name.
    pub fn add_user(&self, user: User) {
        self.add_token(&Self::token(&user.name), user);
    }

    /// What the server tells as its `gitVersion` from now on.
    pub fn set_version(&self, version: &str) {
        lock(&self.inner.about).version = version.to_owned();
    }

    /// Which checks of its health fail from now on: `etcd`, `poststarthook/rbac/bootstrap-roles`.
    pub fn set_failing_checks(&self, checks: BTreeSet<String>) {
        lock(&self.inner.about).failing = checks;
    }

    /// The bearer token with which `user` is known to this server, for clients over a socket. The lab has no secrets: it
    /// is made of the name.
    pub fn token(user: &str) -> String {
        format!("lab-{user}")
    }

    /// A client in process for `user`, whose User-Agent is the user's name with version `v0`; the suite's own is
    /// `clusterprofile-conformance/<version>`.
    pub fn client(&self, user: &str) -> kube::Client {
        let agent = match user {
            "conformance" => concat!("clusterprofile-conformance/", env!("CARGO_PKG_VERSION")).to_owned(),
            user => format!("{user}/v0"),
        };
        self.client_as(user, &agent)
    }

    /// A client in process for `user` with this User-Agent.
    pub fn client_as(&self, user: &str, user_agent: &str) -> kube::Client {
        kube::Client::new(self.seen_with(&Self::token(user), user_agent), "default")
    }

    /// The audit events so far: `audit.k8s.io/v1` Event objects, oldest first.
    pub fn audit_events(&self) -> Vec<Value> {
        lock(&self.inner.audit).kept.clone()
    }

    /// The audit log as a file of JSON lines.
    pub fn audit_log(&self) -> String {
        let events = self.audit_events();
        events.iter().map(|event| format!("{event}\n")).collect()
    }

    /// Lets audit events go to `file` from now on, one a line, or nowhere, instead of being remembered: what serves for
    /// long would remember much.
    pub fn send_audit_log(&self, file: Option<File>) {
        lock(&self.inner.audit).send_to(file);
    }

    /// Sets how much audit events tell from now on.
    pub fn set_audit_level(&self, level: AuditLevel) {
        lock(&self.inner.audit).level = level;
    }

    /// Makes the server misbehave.
    pub fn misbehave(&self, misbehaviour: Misbehaviour) {
        match misbehaviour {
            Misbehaviour::DropWatches => self.inner.drops.send_modify(|drops| *drops += 1),
            Misbehaviour::Remember(changes) => self.storage().remember(changes),
            Misbehaviour::CompactHistory => self.storage().compact(),
            Misbehaviour::Recover => self.inner.faults.recover(),
            lasting => self.inner.faults.add(lasting),
        }
    }

    /// Serves plain HTTP/1.1 on `listener` until it fails. The runtime's clock must run in real time.
    pub async fn serve(&self, listener: tokio::net::TcpListener) -> io::Result<()> {
        loop {
            let (stream, _) = listener.accept().await?;
            let service = TowerToHyperService::new(self.clone());
            tokio::spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                // A client that goes away is no concern of the others.
                let _ = connection.await;
            });
        }
    }

    pub(super) fn storage(&self) -> MutexGuard<'_, Storage> {
        lock(&self.inner.storage)
    }

    /// The present moment by the server's own, possibly skewed, clock.
    pub(super) fn now(&self) -> Timestamp {
        let now = self.inner.clock.now();
        now.saturating_add(self.inner.faults.skew()).unwrap_or(now)
    }

    /// The present moment as objects tell it: in seconds.
    pub(super) fn time(&self) -> String {
        self.time_in(0)
    }

    /// The moment so many seconds from now, as objects tell it.
    pub(super) fn time_in(&self, seconds: i64) -> String {
        let seconds = self.now().as_second().saturating_add(seconds);
        let moment = Timestamp::from_second(seconds).unwrap_or_default();
        moment.to_string()
    }

    /// A new UID. Each world deals the same ones in the same order, so that runs can be compared.
    pub(super) fn new_uid(&self) -> String {
        let mut bytes = self.random();
        // These bits say that it was made by chance.
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// Five characters for generated names.
    pub(super) fn name_suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let letter = |byte: &u8| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        self.random()[..5].iter().map(letter).collect()
    }

    fn random(&self) -> [u8; 16] {
        let serial = self.inner.serial.fetch_add(1, Ordering::Relaxed);
        let digest = digest(&SHA256, &serial.to_be_bytes());
        std::array::from_fn(|i| digest.as_ref()[i])
    }
}

/// What a mutex holds. It is never half changed, whatever became of who changed it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
