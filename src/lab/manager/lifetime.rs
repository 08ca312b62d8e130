//! The manager: sets up its world on a hub, then plays the script.

use std::{collections::BTreeMap, time::Duration};

use collect::clock::Clock;
use tokio::time::{Instant, sleep};

use super::{
    driven::{Commands, Controller, Remote, channel},
    faults::Fault,
    fleet::{Fleet, FleetMember, hosts, members, stand_ins},
    members::{CONSUMERS, FLEET},
    script::{Action, Change, Step, pulses},
    world::{MANAGER, World},
};
use crate::{
    client::{Hub, RequestError},
    member::StandIn,
};

/// The reference manager. Its hub must serve ClusterProfile.
pub struct Manager {
    world: World,
    fleet: Fleet,
    clock: Clock,
    remote: Remote,
    commands: Commands,
}

impl Manager {
    /// The cluster manager's name on the hub.
    pub const NAME: &str = MANAGER;
    /// The namespace of the profiles of members that join by remote control.
    pub const NAMESPACE: &str = FLEET;
    /// The consumers to which it gives Secrets.
    pub const CONSUMERS: [&str; 2] = CONSUMERS;

    /// Makes a manager with these faults; with none it conforms. Timestamps come from `clock`, which should agree with the
    /// hub's.
    pub fn new(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::of(World::conforming(clock.now()), faults, clock)
    }

    /// Makes a manager that has no members but those that join by [`Self::remote`]. `faults` are such as only a driver shows.
    pub fn without_fleet(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::of(World::without_fleet(clock.now()), faults, clock)
    }

    fn of(mut world: World, faults: Vec<Fault>, clock: Clock) -> Self {
        for fault in faults {
            fault.apply(&mut world);
            if let Some(example) = fault.example(clock.now()) {
                world.publish_example(&example);
            }
        }
        let (remote, commands) = channel();
        Self {
            fleet: stand_ins(&world, clock),
            world,
            clock,
            remote,
            commands,
        }
    }

    /// Its remote control.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// The members that have a stand-in, in their first state. They change as the manager runs.
    pub fn members(&self) -> Vec<FleetMember> {
        members(&self.world, &self.fleet)
    }

    /// The stand-ins by the hosts and ports in profiles and Secrets. Nothing listens there: use a client of the stand-in
    /// instead of a connection.
    pub fn hosts(&self) -> BTreeMap<String, StandIn> {
        hosts(&self.world, &self.fleet, self.clock)
    }

    /// Writes the first state of the world to the hub: namespaces, profiles with their status, Secrets.
    ///
    /// # Errors
    /// When the hub refuses a write, or cannot be reached for about a minute.
    pub async fn set_up(&mut self, client: &kube::Client) -> Result<(), RequestError> {
        let hub = Hub::new(client.clone());
        for namespace in &self.world.namespaces {
            hub.create(&namespace.target(), MANAGER, &namespace.to_json())
                .await?;
        }
        let joining = self.world.joining();
        let is_there = |member: &str| !joining.contains_key(member);
        for profile in &mut self.world.profiles {
            if is_there(&profile.member) {
                if profile.is_younger {
                    sleep(Duration::from_secs(1)).await;
                }
                profile.create(&hub).await?;
                profile.write(&hub, &self.clock).await?;
            }
        }
        for secret in &self.world.secrets {
            if is_there(&secret.member) {
                secret.create(&hub).await?;
            }
        }
        Ok(())
    }

    /// Runs on the hub that [`Self::set_up`] has prepared, and follows [`Self::remote`]. It never ends by itself: abort
    /// it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(self, client: kube::Client) -> Result<(), RequestError> {
        let Self {
            world,
            fleet,
            clock,
            remote: _remote,
            commands,
        } = self;
        let hub = Hub::new(client);
        let driven = Controller::new(commands, hub.clone(), clock, world.misbehaviours.clone());
        if world.profiles.is_empty() {
            // Nothing happens to a fleet that is not there.
            return driven.run().await;
        }
        let life = Life { world, fleet, clock };
        tokio::try_join!(life.live(&hub), driven.run()).map(|_| ())
    }
}

/// Plays the script.
struct Life {
    world: World,
    fleet: Fleet,
    clock: Clock,
}

impl Life {
    async fn live(mut self, hub: &Hub) -> Result<(), RequestError> {
        let born = Instant::now();
        let mut script = std::mem::take(&mut self.world.script);
        // A stable sort: steps at one time keep their order.
        script.sort_by_key(|step| step.at);
        let mut script = script.into_iter().peekable();
        let mut pulses = pulses().peekable();
        let mut next = move || {
            let is_earlier = |pulse: &Step| script.peek().is_none_or(|step| pulse.at < step.at);
            pulses.next_if(is_earlier).or_else(|| script.next())
        };
        while let Some(step) = next() {
            tokio::time::sleep_until(born + step.at).await;
            self.take(step, hub).await?;
        }
        Ok(())
    }

    async fn take(&mut self, step: Step, hub: &Hub) -> Result<(), RequestError> {
        let Step { member, action, .. } = step;
        match action {
            Action::Join => self.join(&member, hub).await,
            Action::Observe(change) => self.observe(&member, &change, hub).await,
            Action::Leave => self.leave(&member, hub).await,
            Action::Happen(event) => {
                if let Some(stand_in) = self.fleet.get(&member) {
                    stand_in.alter(|state| event(state));
                }
                Ok(())
            }
            Action::Request { by, via, patch } => {
                let profile = self.world.profile(&member);
                match hub.patch(&profile.target(), &by, via, &patch).await {
                    // A fault may send what the hub refuses.
                    Err(error) if error.is_invalid() => Ok(()),
                    done => done.map(|_| ()),
                }
            }
        }
    }

    async fn join(&mut self, member: &str, hub: &Hub) -> Result<(), RequestError> {
        let now = self.clock.now();
        let profile = self.world.profile(member);
        for condition in &mut profile.status.conditions {
            condition.since = now;
        }
        profile.create(hub).await?;
        for secret in self.world.secrets.iter().filter(|secret| secret.member == member) {
            secret.create(hub).await?;
        }
        Ok(())
    }

    async fn observe(&mut self, member: &str, change: &Change, hub: &Hub) -> Result<(), RequestError> {
        let profile = self.world.profile(member);
        change(&mut profile.status, self.clock.now());
        profile.write(hub, &self.clock).await
    }

    async fn leave(&mut self, member: &str, hub: &Hub) -> Result<(), RequestError> {
        // Credentials first: no Secret may name a missing profile.
        for secret in self.world.secrets.iter().filter(|secret| secret.member == member) {
            hub.delete(&secret.target()).await?;
        }
        hub.delete(&self.world.profile(member).target()).await
    }
}
