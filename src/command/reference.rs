//! The reference implementations, as they run on test hubs.

use std::convert::Infallible;

use anyhow::anyhow;
use collect::clock::Clock;
use evidence::api::Api;
use lab::{
    hub::Hub,
    manager::{Manager, ManagerError},
    scheduler::Scheduler,
};

use super::{Failure, target::Reference};

/// What the reference manager is called.
pub const MANAGER: &str = "reference manager";
/// What the reference scheduler is called.
pub const SCHEDULER: &str = "reference scheduler";

/// Runs the reference implementation of an API on a hub; returns only when it fails.
pub async fn play(hub: &Hub, reference: Reference, api: Api, clock: Clock) -> Failure {
    let Err(failure) = set_up_and_run(hub, reference, api, clock).await;
    failure
}

async fn set_up_and_run(
    hub: &Hub,
    reference: Reference,
    api: Api,
    clock: Clock,
) -> Result<Infallible, Failure> {
    let client = |name| hub.client_as(name, name).map_err(Failure::no_hub);
    let end = match api {
        Api::ClusterProfile => {
            let client = client(Manager::NAME)?;
            let mut manager = Manager::new(reference.faults, clock);
            let set_up = manager.set_up(&client).await;
            set_up.map_err(|error| failed(MANAGER, error))?;
            ended(MANAGER, manager.run(client).await)
        }
        Api::Placement => {
            let client = client(Scheduler::NAME)?;
            let mut scheduler = Scheduler::new(reference.scheduler_faults, clock);
            let set_up = scheduler.set_up(&client).await;
            set_up.map_err(|error| failed(SCHEDULER, error))?;
            ended(SCHEDULER, scheduler.run(client).await)
        }
    };
    Err(end)
}

/// Why a reference implementation runs no longer. It never ends by itself: if it does, it has failed.
pub fn ended(what: &str, end: Result<(), ManagerError>) -> Failure {
    match end {
        Err(error) => failed(what, error),
        Ok(()) => Failure::could_not_run(anyhow!("the {what} ended")),
    }
}

/// Says that a reference implementation failed.
pub fn failed(what: &str, error: ManagerError) -> Failure {
    Failure::could_not_run(anyhow::Error::new(error).context(format!("the {what} failed")))
}
