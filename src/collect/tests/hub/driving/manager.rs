//! The lab's manager, and the hooks by which a run drives it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use collect::driver::{self, Call, Called, Hooks, Offer, OfferError, Offered};
use evidence::{DriverAction, ObjectKey, api::Role};
use futures::{FutureExt as _, future::BoxFuture};
use lab::manager::{self, Fault, ReferenceHooks};

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
    /// The hook `leave` fails so many times for each member.
    pub clings: usize,
    /// What they cannot do.
    pub lacking: BTreeSet<DriverAction>,
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
    at_work: AtomicUsize,
    /// How many hooks were at work at once, at most.
    pub most_at_work: AtomicUsize,
}

/// How long a hook takes.
const HOOK: Duration = Duration::from_secs(3);

impl Manager {
    pub async fn new(world: &World, habits: Habits) -> Self {
        Self::with_faults(world, habits, &[]).await
    }

    /// A manager with these faults of the lab's.
    pub async fn with_faults(world: &World, habits: Habits, faults: &[&str]) -> Self {
        let faults = faults.iter().map(|id| Fault::parse(id).expect("a fault"));
        let mut manager = manager::Manager::without_fleet(faults.collect(), world.clock);
        let client = world.server.client(manager::Manager::NAME);
        manager.set_up(&client).await.expect("set up");
        let hooks = ManagerHooks {
            habits,
            reference: ReferenceHooks::new([(Role::Manager, manager.remote())], world.clock),
            own: Mutex::default(),
            joined: Mutex::default(),
            in_namespace: Mutex::default(),
            calls: Mutex::default(),
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

    async fn act(&self, call: &Call<'_>, stop: CancellationToken) -> Called {
        let name = call.member.map_or("", |member| &member.name);
        let before = self.note(format!("{} {name}", call.action).trim().to_owned());
        let at_work = self.at_work.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_work.fetch_max(at_work, Ordering::Relaxed);
        sleep(HOOK).await;
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        if call.action == DriverAction::Leave && before < self.habits.clings {
            return Called::failed("it does not let go");
        }
        if call.namespace.is_some() {
            self.in_namespace
                .lock()
                .expect("no panic")
                .insert(name.to_owned());
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
        let mut called = Called::done();
        if !self.habits.idle {
            let member = driver::Member {
                name: self.other_name(name),
                ..driver::Member::default()
            };
            let call = Call {
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
        let lacks = self.habits.lacking.contains(&action);
        lacks.then(|| format!("there is no hook `{action}`"))
    }

    fn call<'a>(&'a self, call: &'a Call<'a>, stop: CancellationToken) -> BoxFuture<'a, Called> {
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
        async move { self.reference.offer(&self.other_name(name)).await }.boxed()
    }
}
