//! Starts test hubs, and the reference implementations on them.

use std::path::Path;

use anyhow::{Context, anyhow};
use collect::{Members, Plan, clock::Clock};
use evidence::api::Role;
use futures::future::{FutureExt as _, LocalBoxFuture, select_all};
use kube::Client;
use lab::{
    consumer::Consumer,
    crd::CustomResourceDefinition,
    hub::{Hub, HubError, assets, envtest_options},
    manager::{Manager, ManagerError},
    scheduler::Scheduler,
};
use tokio::runtime::{Builder, Runtime};

use crate::command::{
    flags::{
        driver::Driving,
        members,
        plan::Own,
        target::{Reference, Target, TestHub},
    },
    terminal::exit::Failure,
};

/// Starts a test hub with these definitions; envtest with more flags of its API server.
///
/// # Errors
/// When the hub does not start.
pub async fn start(
    hub: TestHub,
    definitions: &[CustomResourceDefinition],
    flags: Vec<String>,
    clock: Clock,
) -> Result<Hub, Failure> {
    let started = match hub {
        TestHub::Lab => Hub::lab_with(clock, definitions).await,
        TestHub::Envtest => {
            let assets = assets(Path::new("")).map_err(Failure::no_hub)?;
            let mut options = envtest_options();
            // Of a flag that is given twice, the last one counts.
            options.api_server_flags.extend(flags);
            Hub::envtest_with(&assets, options, definitions).await
        }
        TestHub::K3s if !Hub::HAS_K3S => Err(HubError::WithoutK3s),
        TestHub::K3s => {
            anstream::eprintln!("note: starting K3s in a container; the first start pulls its image");
            Hub::k3s_with(definitions).await
        }
    };
    started.map_err(Failure::no_hub)
}

/// Builds a runtime. The lab is in this process, so its time is simulated; other hubs have their own time.
///
/// # Errors
/// When the runtime does not start.
pub fn runtime(target: &Target) -> Result<Runtime, Failure> {
    let mut builder = if target.is_lab() {
        Builder::new_current_thread()
    } else {
        Builder::new_multi_thread()
    };
    let runtime = builder.enable_all().start_paused(target.is_lab()).build();
    runtime
        .context("failed to start the runtime")
        .map_err(Failure::could_not_run)
}

/// Sets up the reference implementation of each role that is judged, and adds to the plan its members, how to drive it, and
/// the testbed. The returned future runs the implementations, and ends only when one fails.
///
/// # Errors
/// When the hub refuses the first objects.
pub async fn set_up(
    hub: &Hub,
    reference: &Reference,
    plan: &mut Plan,
    own: Own,
    driving: Option<&Driving>,
    clock: Clock,
) -> Result<LocalBoxFuture<'static, Failure>, Failure> {
    let judges = |role| plan.claim.edition_of(role).is_some();
    let [manager, scheduler, consumer] = [Role::Manager, Role::Scheduler, Role::Consumer].map(judges);
    let (mut running, mut remotes) = (Vec::new(), Vec::new());
    if own.members {
        plan.members = Members::default();
    }
    if manager {
        let (role, client) = (Role::Manager, client(hub, Role::Manager)?);
        let mut manager = Manager::new(reference.faults_of(role), clock);
        manager
            .set_up(&client)
            .await
            .map_err(|error| failed(role, error))?;
        if own.members {
            plan.members = members::of_the_lab(&manager, plan.observe);
        }
        remotes.push((role, manager.remote()));
        running.push(async move { ended(role, manager.run(client).await) }.boxed_local());
    }
    if scheduler {
        let (role, client) = (Role::Scheduler, client(hub, Role::Scheduler)?);
        let mut scheduler = Scheduler::new(reference.faults_of(role), clock);
        scheduler
            .set_up(&client)
            .await
            .map_err(|error| failed(role, error))?;
        remotes.push((role, scheduler.remote()));
        running.push(async move { ended(role, scheduler.run(client).await) }.boxed_local());
    }
    if consumer {
        let (role, client) = (Role::Consumer, client(hub, Role::Consumer)?);
        let consumer = Consumer::new(reference.faults_of(role), clock);
        let admin = hub.admin(Consumer::NAME).map_err(Failure::no_hub)?;
        consumer
            .set_up(&admin)
            .await
            .map_err(|error| failed(role, error))?;
        plan.testbed = Some(consumer.testbed());
        running.push(async move { ended(role, consumer.run(client).await) }.boxed_local());
    }
    plan.driver = driving.and_then(|driving| driving.by_remotes(remotes, clock));
    Ok(select_all(running).map(|(failure, ..)| failure).boxed_local())
}

/// A client of the role's reference implementation.
fn client(hub: &Hub, role: Role) -> Result<Client, Failure> {
    let name = lab::reference(role).name;
    hub.client_as(name, name).map_err(Failure::no_hub)
}

/// Why a reference implementation ended, which it never does by itself.
fn ended(role: Role, end: Result<(), ManagerError>) -> Failure {
    match end {
        Err(error) => failed(role, error),
        Ok(()) => Failure::could_not_run(anyhow!("the reference {role} ended")),
    }
}

fn failed(role: Role, error: ManagerError) -> Failure {
    Failure::could_not_run(anyhow::Error::new(error).context(format!("the reference {role} failed")))
}
