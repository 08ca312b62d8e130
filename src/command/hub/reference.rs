//! The reference implementations, as they run on test hubs.

use anyhow::anyhow;
use collect::{Members, Plan, clock::Clock, driver::DriverPlan, testbed::TestbedPlan};
use evidence::{Claim, api::Role};
use futures::future::OptionFuture;
use kube::Client;
use lab::{
    consumer::{self, Consumer},
    hub::Hub,
    manager::{Fault, Manager, ManagerError},
    scheduler::{self, Scheduler},
};

use crate::command::{
    flags::{driver::Driving, members, plan::Own, target::Reference},
    terminal::exit::Failure,
};

/// The reference implementations of the roles that are judged, set up on a hub. Each has a client of its own.
pub struct References {
    manager: Option<(Manager, Client)>,
    scheduler: Option<(Scheduler, Client)>,
    consumer: Option<(Consumer, Client)>,
}

impl References {
    /// Makes them, and writes their first objects to a hub.
    ///
    /// # Errors
    /// When the hub refuses that.
    pub async fn set_up(
        hub: &Hub,
        reference: Reference,
        claim: &Claim,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let judges = |role| claim.edition_of(role).is_some();
        let mut references = Self {
            manager: None,
            scheduler: None,
            consumer: None,
        };
        if judges(Role::Manager) {
            references.manager = Some(set_up_manager(hub, reference.faults, clock).await?);
        }
        if judges(Role::Scheduler) {
            references.scheduler = Some(set_up_scheduler(hub, reference.scheduler_faults, clock).await?);
        }
        if judges(Role::Consumer) {
            references.consumer = Some(set_up_consumer(hub, reference.consumer_faults, clock).await?);
        }
        Ok(references)
    }

    /// Adds to a plan the members that the manager has within its time, where the user wants them.
    pub fn complete(&self, plan: &mut Plan, own: Own) {
        if own.members {
            let manager = self.manager.as_ref();
            plan.members = manager.map_or_else(Members::default, |(manager, _)| {
                members::of_the_lab(manager, plan.observe)
            });
        }
    }

    /// Plans what they are driven to do.
    pub fn driver(&self, driving: &Driving, clock: Clock) -> Option<DriverPlan> {
        let manager = self.manager.as_ref().map(|(manager, _)| manager.remote());
        let scheduler = self.scheduler.as_ref().map(|(scheduler, _)| scheduler.remote());
        driving.by_remotes(manager, scheduler, clock)
    }

    /// The testbed of the consumer, if one of them is it.
    pub fn testbed(&self) -> Option<TestbedPlan> {
        self.consumer.as_ref().map(|(consumer, _)| consumer.testbed())
    }

    /// Runs them; returns only when one fails.
    pub async fn run(self) -> Failure {
        let manager = OptionFuture::from(
            self.manager
                .map(async |(manager, client)| ended(Role::Manager, manager.run(client).await)),
        );
        let scheduler = OptionFuture::from(
            self.scheduler
                .map(async |(scheduler, client)| ended(Role::Scheduler, scheduler.run(client).await)),
        );
        let consumer = OptionFuture::from(
            self.consumer
                .map(async |(consumer, client)| ended(Role::Consumer, consumer.run(client).await)),
        );
        tokio::select! {
            Some(failure) = manager => failure,
            Some(failure) = scheduler => failure,
            Some(failure) = consumer => failure,
            // There is always one.
            else => std::future::pending().await,
        }
    }
}

/// Runs the reference implementations on a hub; returns only when one fails.
pub async fn play(hub: &Hub, reference: Reference, claim: &Claim, clock: Clock) -> Failure {
    match References::set_up(hub, reference, claim, clock).await {
        Ok(references) => references.run().await,
        Err(failure) => failure,
    }
}

/// A client of the role's reference implementation.
fn client(hub: &Hub, role: Role) -> Result<Client, Failure> {
    let name = lab::reference(role).name;
    hub.client_as(name, name).map_err(Failure::no_hub)
}

async fn set_up_manager(hub: &Hub, faults: Vec<Fault>, clock: Clock) -> Result<(Manager, Client), Failure> {
    let client = client(hub, Role::Manager)?;
    let mut manager = Manager::new(faults, clock);
    let set_up = manager.set_up(&client).await;
    set_up.map_err(|error| failed(Role::Manager, error))?;
    Ok((manager, client))
}

async fn set_up_scheduler(
    hub: &Hub,
    faults: Vec<scheduler::Fault>,
    clock: Clock,
) -> Result<(Scheduler, Client), Failure> {
    let client = client(hub, Role::Scheduler)?;
    let mut scheduler = Scheduler::new(faults, clock);
    let set_up = scheduler.set_up(&client).await;
    set_up.map_err(|error| failed(Role::Scheduler, error))?;
    Ok((scheduler, client))
}

async fn set_up_consumer(
    hub: &Hub,
    faults: Vec<consumer::Fault>,
    clock: Clock,
) -> Result<(Consumer, Client), Failure> {
    let client = client(hub, Role::Consumer)?;
    let consumer = Consumer::new(faults, clock);
    let admin = hub.admin(Consumer::NAME).map_err(Failure::no_hub)?;
    let set_up = consumer.set_up(&admin).await;
    set_up.map_err(|error| failed(Role::Consumer, error))?;
    Ok((consumer, client))
}

/// Why a reference implementation runs no longer. It never ends by itself: if it does, it has failed.
fn ended(role: Role, end: Result<(), ManagerError>) -> Failure {
    match end {
        Err(error) => failed(role, error),
        Ok(()) => Failure::could_not_run(anyhow!("the reference {role} ended")),
    }
}

/// Says that a reference implementation failed.
fn failed(role: Role, error: ManagerError) -> Failure {
    Failure::could_not_run(anyhow::Error::new(error).context(format!("the reference {role} failed")))
}
