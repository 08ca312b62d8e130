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
        let client = client(hub, Role::Manager)?;
        let mut manager = Manager::new(reference.faults_of(Role::Manager), clock);
        manager.set_up(&client).await.map_err(failed(Role::Manager))?;
        if own.members {
            plan.members = members::of_the_lab(&manager, plan.observe);
        }
        remotes.push((Role::Manager, manager.remote()));
        running.push(run(Role::Manager, async move { manager.run(client).await }));
    }
    if scheduler {
        let client = client(hub, Role::Scheduler)?;
        let mut scheduler = Scheduler::new(reference.faults_of(Role::Scheduler), clock);
        scheduler.set_up(&client).await.map_err(failed(Role::Scheduler))?;
        remotes.push((Role::Scheduler, scheduler.remote()));
        running.push(run(Role::Scheduler, async move { scheduler.run(client).await }));
    }
    if consumer {
        let client = client(hub, Role::Consumer)?;
        let consumer = Consumer::new(reference.faults_of(Role::Consumer), clock);
        let admin = hub.admin(Consumer::NAME).map_err(Failure::no_hub)?;
        consumer.set_up(&admin).await.map_err(failed(Role::Consumer))?;
        plan.testbed = Some(consumer.testbed());
        running.push(run(Role::Consumer, async move { consumer.run(client).await }));
    }
    plan.driver = driving.and_then(|driving| driving.by_remotes(remotes, clock));
    Ok(select_all(running).map(|(failure, ..)| failure).boxed_local())
}

/// A client of the role's reference implementation.
fn client(hub: &Hub, role: Role) -> Result<Client, Failure> {
    let name = lab::reference(role).name;
    hub.client_as(name, name).map_err(Failure::no_hub)
}

/// Runs the role's reference implementation; returns why it ended, which it never does by itself.
fn run(
    role: Role,
    running: impl Future<Output = Result<(), ManagerError>> + 'static,
) -> LocalBoxFuture<'static, Failure> {
    let ended = async move {
        match running.await {
            Err(error) => failed(role)(error),
            Ok(()) => Failure::could_not_run(anyhow!("the reference {role} ended")),
        }
    };
    ended.boxed_local()
}

fn failed(role: Role) -> impl Fn(ManagerError) -> Failure {
    move |error| {
        let error = anyhow::Error::new(error).context(format!("the reference {role} failed"));
        Failure::could_not_run(error)
    }
}
