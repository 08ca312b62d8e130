//! The reference scheduler: a small, honest scheduler that plays the implementation under test of PlacementDecision.
//!
//! It publishes an inventory of simulated clusters, and selects some of them for each of a few workloads: none, a few,
//! exactly a slice, more than a slice. Then a cluster is deleted, another fails, a workload grows past 100 clusters and
//! shrinks again, one comes and one goes. It uses only a [`kube::Client`], so it works on the API server in this process
//! and on any real one.

mod controller;
mod inventory;
mod slices;
mod world;

use collect::clock::Clock;
use controller::SchedulerController;
use inventory::{EDGE, MEMBERS};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use world::SchedulerWorld;

pub use crate::{
    client::RequestError as SchedulerError,
    driver::Remote,
    fault::{Fault, FaultInfo},
};
use crate::{
    client::{HubClient, RequestError},
    driver::{Orders, remote},
    fault,
};

/// The scheduler's name: in its slices, as a user of the hub, and as field manager.
const SCHEDULER: &str = "reference-scheduler";
/// The namespace of the workloads and their decisions.
const PLACEMENTS: &str = "lab-placements";

/// The reference scheduler. Its hub must serve [`hub_definitions`].
pub struct Scheduler {
    world: SchedulerWorld,
    clock: Clock,
    remote: Remote,
    orders: Orders,
}

/// The definitions that the hub must serve for these faults: all of the suite's, with the changes that the faults need,
/// and that of the lab's workloads.
pub fn hub_definitions(faults: &[Fault]) -> Vec<CustomResourceDefinition> {
    let mut definitions = fault::hub_definitions(faults);
    definitions.push(slices::workload_definition());
    definitions
}

impl Scheduler {
    /// The scheduler's name: in its slices, and as a user of the hub.
    pub const NAME: &str = SCHEDULER;
    /// The namespace of its workloads and their decisions.
    pub const NAMESPACE: &str = PLACEMENTS;

    /// Makes a scheduler with these faults; with none it conforms. Timestamps in profiles come from `clock`, which should
    /// agree with the hub's.
    pub fn new(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::with(SchedulerWorld::conforming(faults, clock.now()), clock)
    }

    /// Makes a scheduler that has no clusters and workloads of its own: it selects from the members that join the reference
    /// manager. `faults` are those that only a driver shows.
    pub fn of_fleet(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::with(SchedulerWorld::of_fleet(faults), clock)
    }

    fn with(world: SchedulerWorld, clock: Clock) -> Self {
        let (remote, orders) = remote();
        Self {
            world,
            clock,
            remote,
            orders,
        }
    }

    /// Its remote control.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Writes the first state of the world to the hub: namespaces, the inventory, workloads and
    /// their decisions. [`Self::run`] then knows no more than a scheduler that has restarted.
    ///
    /// # Errors
    /// When the hub refuses a write, or cannot be reached for about a minute.
    pub async fn set_up(&mut self, client: &kube::Client) -> Result<(), RequestError> {
        let hub = HubClient::new(client.clone());
        for namespace in [MEMBERS, EDGE, PLACEMENTS] {
            hub.create_namespace(namespace, SCHEDULER, &Default::default())
                .await?;
        }
        if self.world.inventory == MEMBERS {
            inventory::publish(&hub, &self.clock).await?;
        }
        for name in &self.world.profiles {
            inventory::publish_one(&hub, &self.clock, PLACEMENTS, name).await?;
        }
        let mut controller = SchedulerController::new(hub, self.clock, &self.world);
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
        let mut controller = SchedulerController::new(HubClient::new(client), self.clock, &self.world);
        for placement in self.world.placements {
            controller.place(placement).await?;
        }
        controller.run(self.world.script, self.orders).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evidence::api::Role;

    use super::*;
    use crate::hub::Hub;

    /// Users combine faults: no fault may fail because another one removed something.
    #[tokio::test(start_paused = true)]
    async fn all_faults_at_once_run() {
        let clock = Clock::system();
        let faults: Vec<Fault> = fault::faults(Role::Scheduler)
            .map(|fault| Fault::parse(fault.id).unwrap())
            .collect();
        let hub = Hub::lab_with(clock, &hub_definitions(&faults)).await.unwrap();
        let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).unwrap();
        let mut scheduler = Scheduler::new(faults, clock);
        scheduler.set_up(&client).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(16 * 60), scheduler.run(client)).await;
        assert!(ended.is_err(), "the scheduler ended: {ended:?}");
    }
}
