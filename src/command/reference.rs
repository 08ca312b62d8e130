//! The reference implementations, as they run on test hubs.

use std::convert::Infallible;

use anyhow::anyhow;
use collect::clock::Clock;
use evidence::api::Api;
use kube::Client;
use lab::{
    hub::Hub,
    manager::{Manager, ManagerError},
    scheduler::Scheduler,
};

use super::{Failure, target::Reference};

/// What the reference manager is called.
const MANAGER: &str = "reference manager";
/// What the reference scheduler is called.
const SCHEDULER: &str = "reference scheduler";

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
    match api {
        Api::ClusterProfile => {
            let (manager, client) = set_up_manager(hub, reference, clock).await?;
            Err(run_manager(manager, client).await)
        }
        Api::Placement => {
            let (scheduler, client) = set_up_scheduler(hub, reference, clock).await?;
            Err(run_scheduler(scheduler, client).await)
        }
    }
}

/// Makes the reference manager, and writes its first objects to a hub. Returns it with its client.
pub async fn set_up_manager(
    hub: &Hub,
    reference: Reference,
    clock: Clock,
) -> Result<(Manager, Client), Failure> {
    let client = hub.client_as(Manager::NAME, Manager::NAME);
    let client = client.map_err(Failure::no_hub)?;
    let mut manager = Manager::new(reference.faults, clock);
    let set_up = manager.set_up(&client).await;
    set_up.map_err(|error| failed(MANAGER, error))?;
    Ok((manager, client))
}

/// Does the same for the reference scheduler.
pub async fn set_up_scheduler(
    hub: &Hub,
    reference: Reference,
    clock: Clock,
) -> Result<(Scheduler, Client), Failure> {
    let client = hub.client_as(Scheduler::NAME, Scheduler::NAME);
    let client = client.map_err(Failure::no_hub)?;
    let mut scheduler = Scheduler::new(reference.scheduler_faults, clock);
    let set_up = scheduler.set_up(&client).await;
    set_up.map_err(|error| failed(SCHEDULER, error))?;
    Ok((scheduler, client))
}

/// Runs the reference manager; returns only when it fails.
pub async fn run_manager(manager: Manager, client: Client) -> Failure {
    ended(MANAGER, manager.run(client).await)
}

/// Runs the reference scheduler; returns only when it fails.
pub async fn run_scheduler(scheduler: Scheduler, client: Client) -> Failure {
    ended(SCHEDULER, scheduler.run(client).await)
}

/// Why a reference implementation runs no longer. It never ends by itself: if it does, it has failed.
fn ended(what: &str, end: Result<(), ManagerError>) -> Failure {
    match end {
        Err(error) => failed(what, error),
        Ok(()) => Failure::could_not_run(anyhow!("the {what} ended")),
    }
}

/// Says that a reference implementation failed.
fn failed(what: &str, error: ManagerError) -> Failure {
    Failure::could_not_run(anyhow::Error::new(error).context(format!("the {what} failed")))
}
