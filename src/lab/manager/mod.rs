//! The reference manager: a small, honest cluster manager that plays the implementation under test.
//!
//! It publishes a fleet of 20 fake members and gives two consumers their credentials. Then clusters join, grow,
//! fail, heal, are upgraded and leave. A run can have further members join. The manager
//! uses only a [`kube::Client`], so it works on the API server in this process and on any real one.
//!
//! A `ManagerWorld` holds all that happens to the fleet. The controller observes the members when the script says so, and those
//! of a run in rounds; it computes every status from the member's answers and the profile on the hub.

mod asked;
mod controller;
mod driven;
mod faults;
mod look;
mod members;
mod status;
mod world;

use collect::clock::Clock;
use controller::ManagerController;
pub(crate) use members::new_ca_data;
use members::{CONSUMERS, FLEET};
use world::ManagerWorld;

pub use crate::{
    client::RequestError as ManagerError,
    driver::{ReferenceHooks, Remote},
    fault::{Fault, FaultInfo, adapt_definitions, hub_definitions},
};
use crate::{
    client::{HubClient, RequestError},
    driver::{Orders, remote},
};

/// The name of the cluster manager, and of its field manager.
const MANAGER: &str = "reference-manager";

/// The reference manager. Its hub must serve ClusterProfile.
pub struct Manager {
    world: ManagerWorld,
    clock: Clock,
    remote: Remote,
    orders: Orders,
}

impl Manager {
    /// The cluster manager's name on the hub.
    pub const NAME: &str = MANAGER;
    /// The namespace of the profiles of members that a run has join.
    pub const NAMESPACE: &str = FLEET;
    /// The consumers to which it gives Secrets.
    pub const CONSUMERS: [&str; 2] = CONSUMERS;

    /// Makes a manager with these faults; with none it conforms. Timestamps come from `clock`, which should agree with the
    /// hub's.
    pub fn new(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::with(ManagerWorld::conforming(faults, clock), clock)
    }

    /// Makes a manager that has no members but those that a run has join. `faults` are those that only a driver shows.
    pub fn without_fleet(faults: Vec<Fault>, clock: Clock) -> Self {
        Self::with(ManagerWorld::without_fleet(faults), clock)
    }

    fn with(world: ManagerWorld, clock: Clock) -> Self {
        let (remote, orders) = remote();
        Self {
            world,
            clock,
            remote,
            orders,
        }
    }

    /// Namespace and name of the profile of a member that a run has join.
    pub fn profile(member: &str) -> (String, String) {
        (FLEET.to_owned(), members::profile_name(member))
    }

    /// Its remote control.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Writes the first state of the world to the hub: namespaces, profiles with their status, Secrets.
    ///
    /// # Errors
    /// When the hub refuses a write, or cannot be reached for about a minute.
    pub async fn set_up(&mut self, client: &kube::Client) -> Result<(), RequestError> {
        let hub = HubClient::new(client.clone());
        for (namespace, labels) in &self.world.namespaces {
            hub.create_namespace(namespace, MANAGER, labels).await?;
        }
        ManagerController::new(hub, self.clock, self.world.clone())
            .publish()
            .await
    }

    /// Runs on the hub that [`Self::set_up`] has prepared, and follows [`Self::remote`]. It never ends by itself: abort
    /// it.
    ///
    /// # Errors
    /// When the hub refuses a request, or cannot be reached for about a minute.
    pub async fn run(self, client: kube::Client) -> Result<(), RequestError> {
        let controller = ManagerController::new(HubClient::new(client), self.clock, self.world);
        controller.run(self.orders).await
    }
}

#[cfg(test)]
mod tests {
    use evidence::api::Role;
    use jiff::Timestamp;

    use super::*;
    use crate::fault::faults;

    /// Users combine faults: no fault may fail because another one removed something.
    #[tokio::test(start_paused = true)]
    async fn all_faults_at_once_make_a_world() {
        let all: Vec<Fault> = faults(Role::Manager)
            .map(|fault| Fault::parse(fault.id).unwrap())
            .collect();
        let backward: Vec<Fault> = all.iter().rev().copied().collect();
        for faults in [all, backward] {
            Manager::new(faults, Clock::starting_at(Timestamp::UNIX_EPOCH));
        }
    }
}
