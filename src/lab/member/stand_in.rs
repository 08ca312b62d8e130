//! The stand-in: an API server that follows a member's state.

use std::sync::Arc;

use apiserver::{AccessRule, ApiServer, Misbehaviour, User, new_token};
use collect::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    objects::{bring_about, renew_leases, withdraw_leases},
    state::{Leases, MemberState},
};

/// How often a living control plane renews its leases, in seconds.
const RENEWAL: i64 = 2;
/// How many changes of each kind its server remembers: enough for a watch that is never far behind.
const HISTORY: usize = 200;
/// The age of leases that were stale from the start.
const LONG_STALE: SignedDuration = SignedDuration::from_hours(1);

/// A stand-in member. Clones are the same member.
#[derive(Clone)]
pub struct StandIn {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    clock: Clock,
    server: ApiServer,
    state: Mutex<MemberState>,
    /// Tells open connections to end when the member becomes unreachable.
    reachable: watch::Sender<bool>,
}

impl StandIn {
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
        let server = crate::server::server(clock);
        // Nobody reads a member's audit log, and its leases are renewed for as long as it is asked.
        server.send_audit_log(None);
        server.misbehave(Misbehaviour::Remember(HISTORY));
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

    /// Its present state.
    pub fn state(&self) -> MemberState {
        self.inner.state.lock().clone()
    }

    /// Changes its state, with immediate effect.
    pub fn alter(&self, change: impl FnOnce(&mut MemberState)) {
        let mut state = self.inner.state.lock();
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

    pub(super) fn server(&self) -> ApiServer {
        self.inner.server.clone()
    }

    pub(super) fn is_reachable(&self) -> bool {
        *self.inner.reachable.borrow()
    }

    /// Reports when the member becomes reachable or unreachable.
    pub(super) fn reachable(&self) -> watch::Receiver<bool> {
        self.inner.reachable.subscribe()
    }

    /// Renews the leases if `path` reads them: renewing them every two seconds for half an hour would cost far more.
    pub(super) fn freshen(&self, path: &str) {
        if path.starts_with("/apis/coordination.k8s.io/") && self.inner.state.lock().leases == Leases::Alive {
            renew_leases(&self.inner.server, self.last_renewal());
        }
    }

    /// The value of the `Date` header.
    pub(super) fn date(&self) -> String {
        let now = self.inner.clock.now();
        now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    fn last_renewal(&self) -> Timestamp {
        let second = self.inner.clock.now().as_second();
        Timestamp::from_second(second - second.rem_euclid(RENEWAL)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StandIn")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

/// Applies the parts of the state that are no objects.
fn apply(server: &ApiServer, state: &MemberState) {
    server.set_version(&state.version);
    server.set_failing_checks(state.failing_checks.clone());
}

/// Reads what the suite asks members for.
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

/// Reads ConfigMaps in one namespace.
fn consumer_rules() -> Vec<AccessRule> {
    vec![rule(
        &["get", "list", "watch"],
        &[""],
        &["configmaps"],
        &["default"],
    )]
}

/// All rights that can be granted, on URLs outside the resources too.
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
