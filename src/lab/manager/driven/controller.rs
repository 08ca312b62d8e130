//! Reconciles in rounds: asks members, compares profiles, and corrects what differs.

use std::time::Duration;

use futures::future::join_all;
use kube::{Client, api::DynamicObject};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    credentials,
    look::{Health, health, inventory},
    misbehaviours::Misbehaviour,
    publish::{difference, is_ours, missing_labels, profile, profile_name, status, target},
    remote::Order,
    state::{Controller, Memory, Registered},
};
use crate::{
    client::{RequestError, Via, profile_resource},
    manager::{access::Access, certificates::new_ca_data, members::FLEET, world::MANAGER},
    mirror::Mirror,
};

/// How often the manager asks for members' health, and compares profiles.
pub(super) const ROUND: Duration = Duration::from_secs(10);
/// How often it asks for members' inventory, which seldom changes and costs more.
const INVENTORY: Duration = Duration::from_secs(60);
/// How long it waits for further joins before a round.
const TOGETHER: Duration = Duration::from_secs(1);
/// How long the manager takes to notice that it is cut off, or connected again.
const NOTICE: Duration = Duration::from_secs(5);
/// How long a restart takes.
const RESTART: Duration = Duration::from_secs(5);

impl Controller {
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
                        Order::CutOff(is_cut_off) => {
                            self.cut_off(is_cut_off).await?;
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
    async fn retire(&mut self, name: &str) -> Result<(), RequestError> {
        self.members.remove(name);
        self.memory.remove(name);
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

    /// A manager that is cut off keeps the members that it knows.
    async fn cut_off(&mut self, is_cut_off: bool) -> Result<(), RequestError> {
        self.is_cut_off = is_cut_off;
        sleep(NOTICE).await;
        self.misbehave_when_cut_off().await
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
        for name in self.no_longer_lingering() {
            self.retire(&name).await?;
        }
        Ok(())
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
        memory.forget(&self.misbehaviours, &mut wanted);
        if let Some(patch) = difference(&there, &wanted)
            && !holds_back
            && !(self.misbehaviours.has(Misbehaviour::TrustsItsMemory)
                && memory.written.as_ref() == Some(&wanted))
            && memory.budget.allows_one()
        {
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
