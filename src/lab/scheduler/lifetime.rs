//! The scheduler: sets up its world on a hub, then plays the script and follows the remote control.

use collect::clock::Clock;

use super::{
    faults::Fault,
    inventory::{EDGE, MEMBERS, create_namespace, publish, publish_one},
    names::{PLACEMENTS, SCHEDULER},
    remote::{Commands, Remote, channel},
    world::World,
};
use crate::client::{Hub, RequestError};

/// The reference scheduler. Its hub must serve ClusterProfile, PlacementDecision and the lab's workloads: see
/// [`hub_definitions`](super::hub_definitions).
pub struct Scheduler {
    world: World,
    clock: Clock,
    remote: Remote,
    commands: Commands,
}

impl Scheduler {
    /// The scheduler's name: in its slices, and as a user of the hub.
    pub const NAME: &str = SCHEDULER;
    /// The namespace of its workloads and their decisions.
    pub const NAMESPACE: &str = PLACEMENTS;

    /// Makes a scheduler with these faults; with none it conforms. Timestamps in profiles come from `clock`, which should
    /// agree with the hub's.
    pub fn new(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::of(World::conforming(), faults, clock)
    }

    /// Makes a scheduler that has no clusters and workloads of its own: it selects from the members that join the reference
    /// manager. `faults` are such as only a driver shows.
    pub fn of_fleet(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::of(World::of_fleet(), faults, clock)
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

    /// Writes the first state of the world to the hub: namespaces, the inventory, workloads and
    /// their decisions. What runs then knows no more than a scheduler that has restarted.
    ///
    /// # Errors
    /// When the hub refuses a write, or cannot be reached for about a minute.
    pub async fn set_up(&mut self, client: &kube::Client) -> Result<(), RequestError> {
        let hub = Hub::new(client.clone());
        for namespace in [MEMBERS, EDGE, PLACEMENTS] {
            create_namespace(&hub, namespace).await?;
        }
        if self.world.inventory == MEMBERS {
            publish(&hub, &self.clock).await?;
        }
        for name in &self.world.profiles {
            publish_one(&hub, &self.clock, PLACEMENTS, name).await?;
        }
        let mut controller = self.world.controller(hub, self.clock);
        for placement in self.world.placements.clone() {
            controller.place(placement).await?;
        }
        controller.round().await
    }

    /// Runs on the hub that [`Self::set_up`] has prepared, and follows [`Self::remote`]. It never ends by itself: abort
    /// it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(self, client: kube::Client) -> Result<(), RequestError> {
        let Self {
            world,
            clock,
            remote: _remote,
            commands,
        } = self;
        let mut controller = world.controller(Hub::new(client), clock);
        for placement in world.placements {
            controller.place(placement).await?;
        }
        controller.run(world.script, commands).await
    }
}
