//! The lab's manager, and the hooks by which a run drives it and the lab's scheduler.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use collect::driver::{self, Called, HookRequest, Hooks, Offer, OfferError, Offered};
use evidence::{DriverAction, ObjectKey, PlacementRequest, api::Role};
use futures::{FutureExt as _, future::BoxFuture};
use lab::{
    driver::Remote,
    manager::{self, Fault, ReferenceHooks},
    scheduler::Scheduler,
};

use super::{super::*, Life};

/// How the hooks differ from those that do everything right.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// They have no effect.
    pub idle: bool,
    /// The manager gets other names of members, so that its profiles do not mention the run's.
    pub renames: bool,
    /// The hook `join` names the profile.
    pub names_profile: bool,
    /// The hooks `leave` and `unplace` fail so many times for each member and placement.
    pub failures: usize,
    /// The only member for which `leave` fails; none if it fails for all.
    pub fails_for: Option<&'static str>,
    /// The scheduler gets other names of placements, so that its slices do not mention the run's. The hook `place` prints
    /// the key.
    pub prints_key: bool,
    /// Actions without a hook.
    pub missing: BTreeSet<DriverAction>,
}

impl Habits {
    pub fn idle() -> Self {
        Self {
            idle: true,
            ..Self::default()
        }
    }

    pub fn failing(failures: usize) -> Self {
        Self {
            failures,
            ..Self::default()
        }
    }
}

/// A manager that is driven.
pub struct Manager {
    pub hooks: Arc<ManagerHooks>,
    pub life: Life,
}

/// Its hooks, and what they were asked for.
pub struct ManagerHooks {
    habits: Habits,
    reference: ReferenceHooks,
    /// Members that the run does not offer.
    own: Mutex<BTreeMap<String, Box<dyn Offered>>>,
    joined: Mutex<BTreeSet<String>>,
    /// The members whose profiles are to be in the namespace of the run's own.
    in_namespace: Mutex<BTreeSet<String>>,
    /// Everything that the hooks were asked for, in its order: `join conformance-t-1`.
    pub calls: Mutex<Vec<String>>,
    /// What each call of the hook `leave` got, by the name of the member.
    pub leaves: Mutex<BTreeMap<String, Vec<String>>>,
    /// The API servers of the members that the run offers.
    servers: Mutex<BTreeMap<String, Weak<()>>>,
    at_work: AtomicUsize,
    /// How many hooks were at work at once, at most.
    pub most_at_work: AtomicUsize,
}

/// How long a hook takes.
const HOOK: Duration = Duration::from_secs(3);

impl Manager {
    pub async fn new(world: &World, habits: Habits) -> Self {
        Self::with(world, habits, &[], None).await
    }

    /// A manager with these faults of the lab. The hooks drive the scheduler, too.
    pub async fn with(world: &World, habits: Habits, faults: &[&str], scheduler: Option<Remote>) -> Self {
        let faults = faults.iter().map(|id| Fault::parse(id).expect("a fault"));
        let mut manager = manager::Manager::without_fleet(faults.collect(), world.clock);
        let client = world.server.client(manager::Manager::NAME);
        manager.set_up(&client).await.expect("set up");
        let scheduler = scheduler.map(|remote| (Role::Scheduler, remote));
        let remotes = [(Role::Manager, manager.remote())].into_iter().chain(scheduler);
        let hooks = ManagerHooks {
            habits,
            reference: ReferenceHooks::new(remotes, world.clock),
            own: Mutex::default(),
            joined: Mutex::default(),
            in_namespace: Mutex::default(),
            calls: Mutex::default(),
            leaves: Mutex::default(),
            servers: Mutex::default(),
            at_work: AtomicUsize::default(),
            most_at_work: AtomicUsize::default(),
        };
        Self {
            hooks: Arc::new(hooks),
            life: Life::of(manager.run(client)),
        }
    }
}

impl Deref for Manager {
    type Target = ManagerHooks;

    fn deref(&self) -> &ManagerHooks {
        &self.hooks
    }
}

impl ManagerHooks {
    /// Adds a member that the run does not offer.
    pub async fn own(&self, name: &str) {
        let member = self.reference.offer(name).await.expect("a member");
        self.own.lock().expect("no panic").insert(name.to_owned(), member);
    }

    /// The members that have joined and not left.
    pub fn joined(&self) -> BTreeSet<String> {
        self.joined.lock().expect("no panic").clone()
    }

    /// The joined members whose profiles are to be in the namespace of the run's own.
    pub fn in_namespace(&self) -> BTreeSet<String> {
        let joined = self.joined();
        let names = self.in_namespace.lock().expect("no panic");
        names.intersection(&joined).cloned().collect()
    }

    /// The profile of a member.
    pub fn profile(&self, name: &str) -> ObjectKey {
        let (namespace, name) = manager::Manager::profile(&self.other_name(name));
        ObjectKey { namespace, name }
    }

    /// What the manager calls a member.
    fn other_name(&self, name: &str) -> String {
        match name.rsplit_once('-') {
            Some((_, number)) if self.habits.renames => format!("member-{number}"),
            _ => name.to_owned(),
        }
    }

    /// Notes a call. Returns how many of the same there were before.
    fn note(&self, call: String) -> usize {
        let mut calls = self.calls.lock().expect("no panic");
        calls.push(call);
        calls.iter().filter(|known| Some(*known) == calls.last()).count() - 1
    }

    /// Calls the scheduler's hook.
    async fn place(
        &self,
        call: &HookRequest<'_>,
        placement: &PlacementRequest,
        stop: CancellationToken,
    ) -> Called {
        let before = self.note(format!("{} {}", call.action, placement.name));
        if call.action == DriverAction::Unplace && before < self.habits.failures {
            return Called::failed("the hook fails");
        }
        let key = match placement.name.rsplit_once('-') {
            Some((_, number)) if self.habits.prints_key => format!("k{number}"),
            _ => placement.name.clone(),
        };
        let renamed = PlacementRequest {
            name: key.clone(),
            ..placement.clone()
        };
        let call = HookRequest {
            placement: Some(&renamed),
            ..call.clone()
        };
        let called = self.reference.call(&call, stop).await;
        Called {
            decision: self.habits.prints_key.then(|| ObjectKey {
                namespace: Scheduler::NAMESPACE.to_owned(),
                name: key,
            }),
            ..called
        }
    }

    /// Notes what the hook `leave` got.
    fn note_leave(&self, call: &HookRequest<'_>, member: &driver::HookMember) {
        let servers = self.servers.lock().expect("no panic");
        let server = servers.get(&member.name).and_then(Weak::upgrade);
        let kubeconfig = call.kubeconfig.is_some();
        let got = format!(
            "kubeconfig: {kubeconfig}, served: {}, namespace: {:?}, profile: {:?}",
            server.is_some(),
            call.namespace,
            call.profile
        );
        let mut leaves = self.leaves.lock().expect("no panic");
        leaves.entry(member.name.clone()).or_default().push(got);
    }

    async fn act(&self, call: &HookRequest<'_>, stop: CancellationToken) -> Called {
        if let Some(placement) = call.placement {
            return self.place(call, placement, stop).await;
        }
        let name = call.member.map_or("", |member| &member.name);
        let before = self.note(format!("{} {name}", call.action).trim().to_owned());
        if let (DriverAction::Leave, Some(member)) = (call.action, call.member) {
            self.note_leave(call, member);
        }
        let at_work = self.at_work.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_work.fetch_max(at_work, Ordering::Relaxed);
        sleep(HOOK).await;
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        let is_failing = self.habits.fails_for.is_none_or(|failing| failing == name);
        if call.action == DriverAction::Leave && is_failing && before < self.habits.failures {
            return Called::failed("the hook fails");
        }
        if call.namespace.is_some() {
            let mut names = self.in_namespace.lock().expect("no panic");
            names.insert(name.to_owned());
        }
        if call.action == DriverAction::Join {
            self.joined.lock().expect("no panic").insert(name.to_owned());
        }
        if let Some(own) = self.own.lock().expect("no panic").get(name) {
            match call.action {
                DriverAction::Break => own.break_down(),
                DriverAction::Heal => own.heal(),
                DriverAction::Upgrade => _ = own.upgrade(),
                _ => {}
            }
        }
        let mut called = Called::success();
        if !self.habits.idle {
            let member = driver::HookMember::named(self.other_name(name));
            let call = HookRequest {
                member: Some(&member),
                ..call.clone()
            };
            called = self.reference.call(&call, stop).await;
        }
        match call.action {
            DriverAction::Join if self.habits.names_profile => called.profile = Some(self.profile(name)),
            DriverAction::Leave => _ = self.joined.lock().expect("no panic").remove(name),
            _ => {}
        }
        called
    }
}

impl Hooks for ManagerHooks {
    fn lacking(&self, action: DriverAction) -> Option<String> {
        let is_missing = self.habits.missing.contains(&action);
        is_missing.then(|| format!("there is no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a HookRequest<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
        async move {
            tokio::select! {
                called = self.act(call, stop.clone()) => called,
                () = stop.cancelled() => Called::failed("the run was stopped"),
            }
        }
        .boxed()
    }
}

impl Offer for ManagerHooks {
    fn offer<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn Offered>, OfferError>> {
        let server = Arc::new(());
        let mut servers = self.servers.lock().expect("no panic");
        servers.insert(name.to_owned(), Arc::downgrade(&server));
        async move {
            let member = self.reference.offer(&self.other_name(name)).await?;
            let served = ServedMember {
                member,
                _server: server,
            };
            Ok(Box::new(served) as Box<dyn Offered>)
        }
        .boxed()
    }
}

/// A fake member with a kubeconfig.
struct ServedMember {
    member: Box<dyn Offered>,
    _server: Arc<()>,
}

impl Offered for ServedMember {
    fn kubeconfig(&self) -> Option<String> {
        Some("kubeconfig".to_owned())
    }

    fn server(&self) -> Option<String> {
        self.member.server()
    }

    fn break_down(&self) {
        self.member.break_down();
    }

    fn heal(&self) {
        self.member.heal();
    }

    fn upgrade(&self) -> String {
        self.member.upgrade()
    }
}
