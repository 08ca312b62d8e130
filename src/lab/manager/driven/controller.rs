//! Reconciles in rounds: asks members, compares profiles, and corrects what differs.

use std::{collections::BTreeMap, time::Duration};

use collect::clock::Clock;
use futures::future::join_all;
use kube::{Client, api::DynamicObject};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    budget::Budget,
    credentials,
    fault_hooks::double,
    look::{Health, Inventory, health, inventory},
    misbehaviours::{Misbehaviour, Misbehaviours},
    publish::{difference, display_name, is_ours, missing_labels, profile, profile_name, status, target},
    remote::{Commands, Order},
};
use crate::{
    client::{Hub, RequestError, Via, profile_resource},
    manager::{access::Access, certificates::new_ca_data, members::FLEET, world::MANAGER},
    mirror::Mirror,
};

/// How often the manager asks for members' health, and compares profiles.
pub(super) const ROUND: Duration = Duration::from_secs(10);
/// How often it asks for members' inventory, which seldom changes and costs more.
const INVENTORY: Duration = Duration::from_secs(60);
/// How long it waits for further joins before a round.
const TOGETHER: Duration = Duration::from_secs(1);
/// How long a restart takes.
const RESTART: Duration = Duration::from_secs(5);

/// Manages the members that the remote control names.
pub(in crate::manager) struct Controller {
    commands: Commands,
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) misbehaviours: Misbehaviours,
    /// The registered members. A real manager stores this: it survives a restart.
    pub(super) members: BTreeMap<String, Registered>,
    /// State in memory, which a restart loses.
    pub(super) memory: BTreeMap<String, Memory>,
    /// The profiles on the hub.
    pub(super) mirror: Mirror,
    /// How many members have ever joined.
    pub(super) taken: usize,
}

/// A registered member.
pub(super) struct Registered {
    client: Client,
    /// The certificate of its authority.
    pub(super) ca_data: String,
    /// When it joined.
    pub(super) since: Instant,
    /// True if it was the first one ever.
    pub(super) is_first: bool,
    /// True once its profile has been created.
    pub(super) has_profile: bool,
    /// If it has left: until when its profile stays.
    pub(super) lingers: Option<Instant>,
}

/// State of a member in memory.
pub(super) struct Memory {
    pub(super) health: Health,
    inventory: Option<Inventory>,
    /// When to ask for its inventory again.
    due: Instant,
    budget: Budget,
    /// The display name last seen.
    display_name: String,
    has_credentials: bool,
    /// Whether its control plane has failed since the status was first written.
    pub(super) has_failed: bool,
    /// How many needless rewrites of its status remain.
    pub(super) rewrites: u32,
    /// The status last written.
    pub(super) written: Option<serde_json::Value>,
}

impl Controller {
    pub(in crate::manager) fn new(
        commands: Commands,
        hub: Hub,
        clock: Clock,
        misbehaviours: Misbehaviours,
    ) -> Self {
        Self {
            commands,
            hub,
            clock,
            misbehaviours,
            members: BTreeMap::new(),
            memory: BTreeMap::new(),
            mirror: Mirror::new(profile_resource(), FLEET),
            taken: 0,
        }
    }

    /// Follows the remote control. Never ends by itself.
    pub(in crate::manager) async fn run(mut self) -> Result<(), RequestError> {
        let mut next = Instant::now();
        loop {
            tokio::select! {
                Some((order, taken)) = self.commands.recv() => {
                    match order {
                        Order::Join { name, member } => {
                            self.join(name, member);
                            // The caller waits no longer: the rest is for the round.
                            let _ = taken.send(());
                            let (now, soon) = (Instant::now(), Instant::now() + TOGETHER);
                            next = if next < now { soon } else { next.min(soon) };
                        }
                        Order::Leave { name } => {
                            let _ = taken.send(());
                            self.leave(&name).await?;
                        }
                        Order::Restart => {
                            self.restart().await?;
                            let _ = taken.send(());
                            next = Instant::now();
                        }
                    }
                }
                () = sleep_until(next), if !self.members.is_empty() => {
                    self.round().await?;
                    next = Instant::now() + ROUND;
                }
            }
        }
    }

    fn join(&mut self, name: String, client: Client) {
        if self.is_full() {
            return;
        }
        let registered = Registered {
            client,
            ca_data: new_ca_data(&name),
            since: Instant::now(),
            is_first: self.taken == 0,
            has_profile: false,
            lingers: None,
        };
        self.taken += 1;
        self.memory.insert(name.clone(), Memory::of_a_newcomer(&name));
        self.members.insert(name, registered);
    }

    async fn leave(&mut self, name: &str) -> Result<(), RequestError> {
        if !self.members.contains_key(name) || self.lets_linger(name).await? {
            return Ok(());
        }
        self.retire(name).await
    }

    /// Deletes a member's objects on the hub.
    pub(super) async fn retire(&mut self, name: &str) -> Result<(), RequestError> {
        self.members.remove(name);
        self.memory.remove(name);
        self.undouble(name).await?;
        // Credentials first: no Secret may name a missing profile.
        credentials::take(&self.hub, name).await?;
        match self.hub.find(&target(name)).await? {
            Some(profile) if is_ours(&profile) => self.hub.delete(&target(name)).await,
            _ => Ok(()),
        }
    }

    async fn restart(&mut self) -> Result<(), RequestError> {
        self.memory.clear();
        self.mirror = Mirror::new(profile_resource(), FLEET);
        sleep(RESTART).await;
        self.misbehave_after_restart().await
    }

    async fn round(&mut self) -> Result<(), RequestError> {
        self.look().await;
        self.mirror.refresh(&self.hub).await?;
        self.meddle().await?;
        let names: Vec<String> = self.members.keys().cloned().collect();
        for name in names {
            match self.reconcile(&name).await {
                // It was deleted in the meantime: the next round sees that.
                Err(error) if error.is_not_found() => {}
                done => done?,
            }
        }
        self.retire_the_lingering().await
    }

    /// Asks all members in parallel, so that a slow one does not delay the others.
    async fn look(&mut self) {
        let now = self.clock.now();
        let asked = self.members.iter().map(|(name, member)| {
            let is_due = self
                .memory
                .get(name)
                .is_none_or(|memory| memory.due <= Instant::now());
            async move {
                let health = health(&member.client, now).await;
                let inventory = if is_due {
                    inventory(&member.client).await
                } else {
                    None
                };
                (name.clone(), health, inventory)
            }
        });
        for (name, health, inventory) in join_all(asked).await {
            let asks_once = self.misbehaviours.has(Misbehaviour::AsksOnce);
            let health = self.believed(&name, health);
            let memory = self
                .memory
                .entry(name)
                .or_insert_with_key(|name| Memory::after_a_restart(name));
            memory.has_failed |= health != Health::Well && memory.written.is_some();
            memory.health = health;
            if inventory.is_some() && !(asks_once && memory.inventory.is_some()) {
                memory.inventory = inventory;
                memory.due = Instant::now() + INVENTORY;
            }
        }
    }

    /// Corrects a member's profile.
    async fn reconcile(&mut self, name: &str) -> Result<(), RequestError> {
        let there = match self.mirror.get(&profile_name(name)) {
            // Another manager has that name.
            Some(there) if !is_ours(there) => return Ok(()),
            Some(there) => there.clone(),
            None => match self.create(name).await? {
                Some(created) => created,
                None => return Ok(()),
            },
        };
        let holds_back = self.holds_back(name);
        let (Some(member), Some(memory)) = (self.members.get(name), self.memory.get_mut(name)) else {
            return Ok(());
        };
        let (hub, target) = (&self.hub, target(name));
        if let Some(called) = there.data["spec"]["displayName"].as_str() {
            memory.display_name = called.to_owned();
        }
        if let Some(labels) = missing_labels(name, &there)
            && !self.misbehaviours.has(Misbehaviour::LabelsOnce)
        {
            self.mirror
                .put(hub.patch(&target, MANAGER, Via::Object, &labels).await?);
        }
        let mut wanted = status(
            memory.inventory.as_ref(),
            &memory.health,
            Access::to(name, &member.ca_data),
            &there,
            self.clock.now(),
        );
        memory.reword(&mut wanted);
        memory.forget(&self.misbehaviours, &mut wanted);
        if let Some(patch) = difference(&there, &wanted)
            && !holds_back
            && !(self.misbehaviours.has(Misbehaviour::TrustsItsMemory)
                && memory.written.as_ref() == Some(&wanted))
            && memory.budget.allows_one()
        {
            if memory.written.is_none() {
                double(hub, &self.misbehaviours, member, name, &patch).await?;
            }
            self.mirror
                .put(hub.patch(&target, MANAGER, Via::Status, &patch).await?);
            memory.written = Some(wanted);
        }
        if !memory.has_credentials && memory.inventory.is_some() {
            memory.has_credentials = credentials::give(hub, name, &member.ca_data, &member.client).await?;
        }
        Ok(())
    }

    /// Creates a member's profile, and returns it.
    async fn create(&mut self, name: &str) -> Result<Option<DynamicObject>, RequestError> {
        if self.refuses_to_create(name) {
            return Ok(None);
        }
        let (Some(member), Some(memory)) = (self.members.get_mut(name), self.memory.get(name)) else {
            return Ok(None);
        };
        let object = profile(name, &memory.display_name);
        let created = self.hub.create(&target(name), MANAGER, &object).await?;
        member.has_profile = true;
        self.mirror.put(created.clone());
        Ok(Some(created))
    }
}

impl Memory {
    pub(super) fn of_a_newcomer(name: &str) -> Self {
        Self {
            health: Health::Silent,
            inventory: None,
            due: Instant::now(),
            budget: Budget::full(),
            display_name: display_name(name),
            has_credentials: false,
            has_failed: false,
            rewrites: 0,
            written: None,
        }
    }

    fn after_a_restart(name: &str) -> Self {
        Self {
            budget: Budget::unknown(),
            ..Self::of_a_newcomer(name)
        }
    }
}
