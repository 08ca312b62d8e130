//! A small cluster manager in process, that the run can drive.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use collect::driver::{Call, Called, Hooks, Offer, OfferError, Offered};
use evidence::{DriverAction, ObjectKey};
use futures::{FutureExt as _, future::BoxFuture};

use super::super::*;

/// How the manager differs from one that does everything right.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// It makes no profiles.
    pub blind: bool,
    /// Its profiles tell nothing of their members, unless the join hook does.
    pub mute: bool,
    /// Its join hook names the profile.
    pub names_profile: bool,
    /// It never sets right what others have done to its profiles.
    pub careless: bool,
    /// Its leave hook fails so many times for each member.
    pub clings: usize,
    /// What it cannot be made to do.
    pub lacking: BTreeSet<DriverAction>,
}

/// What the manager and its hooks know. Copies know the same.
#[derive(Clone)]
pub struct Manager {
    client: Client,
    pub habits: Habits,
    fleet: Arc<Mutex<BTreeMap<String, Member>>>,
    /// Everything that the hooks were asked for, in its order: `join conformance-t-1`.
    pub calls: Arc<Mutex<Vec<String>>>,
    at_work: Arc<AtomicUsize>,
    /// How many hooks were at work at once, at most.
    pub most_at_work: Arc<AtomicUsize>,
    /// It does one thing after the other.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Debug, Default)]
struct Member {
    broken: bool,
    version: String,
    joined: bool,
    refusals: usize,
    /// The number in the name of a mute manager's profile.
    number: usize,
    /// Its status as it was last written.
    written: Option<Value>,
}

/// How long a hook takes.
const HOOK: Duration = Duration::from_secs(3);
/// How often the manager looks at its members.
const LOOK: Duration = Duration::from_secs(5);

impl Manager {
    pub fn new(world: &World, habits: Habits) -> Self {
        Self {
            client: world.server.client("reference-manager"),
            habits,
            fleet: Arc::default(),
            calls: Arc::default(),
            at_work: Arc::default(),
            most_at_work: Arc::default(),
            turn: Arc::default(),
        }
    }

    /// Lives until it is dropped.
    pub async fn live(&self) {
        loop {
            for name in self.joined() {
                if !self.habits.blind {
                    self.look(&name).await;
                }
            }
            sleep(LOOK).await;
        }
    }

    pub fn joined(&self) -> Vec<String> {
        let fleet = self.fleet();
        let joined = fleet.iter().filter(|(_, member)| member.joined);
        joined.map(|(name, _)| name.clone()).collect()
    }

    fn fleet(&self) -> MutexGuard<'_, BTreeMap<String, Member>> {
        self.fleet.lock().expect("nobody panics")
    }

    fn profile_name(&self, name: &str) -> String {
        if self.habits.mute {
            format!("profile-{}", self.fleet()[name].number)
        } else {
            format!("m-{name}")
        }
    }

    /// Makes the profile tell what is so of the member.
    async fn look(&self, name: &str) {
        let _turn = self.turn.lock().await;
        let Some(member) = self.fleet().get(name).filter(|member| member.joined).cloned() else {
            return;
        };
        let status = self.status(&member);
        if self.habits.careless && member.written.as_ref() == Some(&status) {
            return;
        }
        let profile = self.profile_name(name);
        let path = format!("{PROFILES}/{profile}");
        let found = self.send(Method::GET, &path, None).await.unwrap_or_default();
        let labels = json!({"x-k8s.io/cluster-manager": "m"});
        if found.is_null() {
            let mut object = super::super::profile(&profile);
            object["spec"]["displayName"] = if self.habits.mute { json!("") } else { json!(name) };
            self.send(Method::POST, PROFILES, Some(object))
                .await
                .expect("created");
        } else if found["metadata"]["labels"] != labels {
            let patch = json!({"metadata": {"labels": labels}});
            self.send(Method::PATCH, &path, Some(patch))
                .await
                .expect("patched");
        }
        if found["status"] != status {
            let path = format!("{path}/status");
            let patch = json!({"status": status});
            self.send(Method::PATCH, &path, Some(patch))
                .await
                .expect("patched");
        }
        if let Some(member) = self.fleet().get_mut(name) {
            member.written = Some(status);
        }
    }

    fn status(&self, member: &Member) -> Value {
        let condition = |kind: &str, good: bool| {
            json!({
                "type": kind, "status": if good { "True" } else { "False" }, "reason": "Seen", "message": "",
                "lastTransitionTime": START,
            })
        };
        json!({
            "version": {"kubernetes": member.version},
            "properties": [{"name": "cluster-endpoints.k8s.io", "value": "[\"https://m.example\"]"}],
            "conditions": [condition("Joined", true), condition("ControlPlaneHealthy", !member.broken)],
        })
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, kube::Error> {
        super::super::send(&self.client, method, path, body).await
    }

    async fn act(&self, call: &Call<'_>) -> Called {
        let name = call.member.map(|member| member.name.clone()).unwrap_or_default();
        let told = format!("{} {name}", call.action).trim().to_owned();
        self.calls.lock().expect("nobody panics").push(told);
        let at_work = self.at_work.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_work.fetch_max(at_work, Ordering::Relaxed);
        sleep(HOOK).await;
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        let _turn = self.turn.lock().await;
        match call.action {
            DriverAction::Join => {
                self.alter(&name, |member| member.joined = true);
                let named = self.habits.names_profile.then(|| ObjectKey {
                    namespace: "default".to_owned(),
                    name: self.profile_name(&name),
                });
                return Called {
                    profile: named,
                    ..Called::done()
                };
            }
            DriverAction::Leave => {
                let mut clings = false;
                self.alter(&name, |member| {
                    member.refusals += 1;
                    clings = member.refusals <= self.habits.clings;
                    member.joined = clings;
                });
                if clings {
                    return Called::failed("it does not let go");
                }
                let path = format!("{PROFILES}/{}", self.profile_name(&name));
                let _ = self.send(Method::DELETE, &path, None).await;
            }
            DriverAction::Upgrade => {
                let version = call.version.clone().unwrap_or_default();
                self.alter(&name, |member| member.version = version);
            }
            DriverAction::Break | DriverAction::Heal => {
                let broken = call.action == DriverAction::Break;
                self.alter(&name, |member| member.broken = broken);
            }
            _ => {}
        }
        Called::done()
    }

    fn alter(&self, name: &str, change: impl FnOnce(&mut Member)) {
        let mut fleet = self.fleet();
        let number = fleet.len();
        let member = fleet.entry(name.to_owned()).or_insert_with(|| Member {
            version: "v1.34.1".to_owned(),
            number,
            ..Member::default()
        });
        change(member);
    }
}

impl Hooks for Manager {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let lacks = self.habits.lacking.contains(&action);
        lacks.then(|| format!("there is no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        async move {
            tokio::select! {
                called = self.act(call) => called,
                () = stop.cancelled() => Called::failed("the run was stopped"),
            }
        }
        .boxed()
    }
}

/// A stand-in of which only the manager knows.
struct StandIn {
    manager: Manager,
    name: String,
}

impl Offer for Manager {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        let stand_in = StandIn {
            manager: self.clone(),
            name: name.to_owned(),
        };
        async move { Ok(Box::new(stand_in) as Box<dyn Offered>) }.boxed()
    }
}

impl Offered for StandIn {
    fn kubeconfig(&self) -> Option<String> {
        None
    }

    fn server(&self) -> Option<String> {
        None
    }

    fn break_down(&self) {
        self.manager.alter(&self.name, |member| member.broken = true);
    }

    fn heal(&self) {
        self.manager.alter(&self.name, |member| member.broken = false);
    }

    fn upgrade(&self) -> String {
        self.manager
            .alter(&self.name, |member| member.version = "v1.35.0".to_owned());
        "v1.35.0".to_owned()
    }
}
