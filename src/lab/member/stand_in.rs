//! The stand-in itself: an API server that is kept as its state has it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apiserver::{AccessRule, ApiServer, Misbehaviour, User, new_token};
use collect::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::{
    objects::{bring_about, renew_leases, withdraw_leases},
    state::{Leases, MemberState},
};

/// How often a living control plane renews its leases, in seconds.
const RENEWAL: i64 = 2;
/// For how long leases have not been renewed that were stale from the start.
const LONG_STALE: SignedDuration = SignedDuration::from_hours(1);

/// A stand-in member. Copies are the same member.
#[derive(Clone)]
pub struct StandIn {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    clock: Clock,
    server: ApiServer,
    state: Mutex<MemberState>,
    /// For connections that have to end when nobody answers any more.
    reachable: watch::Sender<bool>,
}

impl StandIn {
    /// The user who may do everything: whom a manager would be.
    pub const ADMIN: &str = "admin";
    /// The user who may read what the suite asks for.
    pub const ASKER: &str = "asker";
    /// A user with few rights: whom a consumer should be.
    pub const CONSUMER: &str = "consumer";
    /// The user of tokens that are issued.
    pub const ISSUED: &str = "issued";
    /// A user with all rights that can be given: whom a consumer should not be.
    pub const CLUSTER_ADMIN: &str = "cluster-admin";

    /// A member in this state. Its time is that of `clock`.
    pub fn new(name: &str, clock: Clock, state: MemberState) -> Self {
        let server = ApiServer::new(apiserver::Clock::new(move || clock.now()));
        for user in [
            User::with_rules(Self::ASKER, asker_rules()),
            User::with_rules(Self::CONSUMER, consumer_rules()),
            User::with_rules(Self::CLUSTER_ADMIN, vec![everything()]),
        ] {
            server.add_user(user);
        }
        bring_about(&server, None, &state);
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

    /// What is so of it now.
    pub fn state(&self) -> MemberState {
        self.lock().clone()
    }

    /// Changes what is so of it, at once.
    pub fn alter(&self, change: impl FnOnce(&mut MemberState)) {
        let mut state = self.lock();
        let before = state.clone();
        change(&mut state);
        let server = &self.inner.server;
        bring_about(server, Some(&before), &state);
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

    /// Lets `user`, one of those that each member knows, in by this bearer token as well, under the name `called`.
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

    /// Lets somebody in by a new token who may read what the suite asks for, as who issues credentials would, and gives
    /// that token.
    pub fn issue(&self) -> String {
        let token = new_token();
        self.admit(&token, Self::ISSUED, Self::ASKER);
        token
    }

    pub(super) fn server(&self) -> ApiServer {
        self.inner.server.clone()
    }

    pub(super) fn is_reachable(&self) -> bool {
        *self.inner.reachable.borrow()
    }

    /// Tells when the member begins or ceases to be reachable.
    pub(super) fn reachable(&self) -> watch::Receiver<bool> {
        self.inner.reachable.subscribe()
    }

    /// Brings what changes with time up to date, as far as `path` is about it: renewing leases every two seconds of
    /// half an hour, for nobody to read, would cost far more.
    pub(super) fn freshen(&self, path: &str) {
        if path.starts_with("/apis/coordination.k8s.io/") && self.lock().leases == Leases::Alive {
            renew_leases(&self.inner.server, self.last_renewal());
        }
    }

    /// The present moment as HTTP tells it.
    pub(super) fn date(&self) -> String {
        let now = self.inner.clock.now();
        now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    fn last_renewal(&self) -> Timestamp {
        let second = self.inner.clock.now().as_second();
        Timestamp::from_second(second - second.rem_euclid(RENEWAL)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn lock(&self) -> MutexGuard<'_, MemberState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StandIn")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

/// What of the state is no object.
fn apply(server: &ApiServer, state: &MemberState) {
    server.set_version(&state.version);
    server.set_failing_checks(state.failing_checks.clone());
}

/// What the suite asks members for.
fn asker_rules() -> Vec<AccessRule> {
    let read =
        |groups: &[&str], resources: &[&str]| rule(&["get", "list", "watch"], groups, resources, &["*"]);
    vec![
        read(&[""], &["nodes"]),
        read(&["coordination.k8s.io"], &["leases"]),
        read(&["apiextensions.k8s.io"], &["customresourcedefinitions"]),
        read(&["about.k8s.io"], &["clusterproperties"]),
    ]
}

/// What a consumer may do with its own.
fn consumer_rules() -> Vec<AccessRule> {
    vec![rule(
        &["get", "list", "watch"],
        &[""],
        &["configmaps"],
        &["default"],
    )]
}

/// What can be given, outside of the resources as well.
fn everything() -> AccessRule {
    AccessRule {
        non_resource_urls: vec!["*".to_owned()],
        ..rule(&["*"], &["*"], &["*"], &["*"])
    }
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], namespaces: &[&str]) -> AccessRule {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    AccessRule {
        verbs: texts(verbs),
        api_groups: texts(groups),
        resources: texts(resources),
        namespaces: texts(namespaces),
        ..AccessRule::default()
    }
}
