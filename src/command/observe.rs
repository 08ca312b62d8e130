//! From a hub to evidence.

use anyhow::{Context, anyhow};
use clusterprofile_conformance::{
    clock::Clock,
    collect::{Plan, collect},
    evidence::Evidence,
    hub::{Assets, EnvtestOptions, Hub, HubError, KubeconfigOptions},
    judge::Selection,
    lab::{
        apiserver::AuditLevel,
        manager::{Manager, hub_definitions},
    },
};
use tokio::runtime::{Builder, Runtime};

use super::{
    Failure, audit,
    driver::Driving,
    members, progress, signals,
    target::{Reference, Target},
};

/// Looks at the target for as long as the plan says, or until a signal.
///
/// # Errors
/// When there is no hub, or nothing can be seen of it.
pub fn observe(
    target: Target,
    plan: Plan,
    driving: Option<&Driving>,
    selection: &Selection,
) -> Result<Evidence, Failure> {
    let runtime = runtime(&target)?;
    runtime.block_on(async {
        let clock = Clock::system();
        match target {
            Target::Kubeconfig(options) => somebody_elses(&options, plan, driving, clock, selection).await,
            Target::Lab(reference) => {
                let definitions = hub_definitions(&reference.faults);
                let hub = Hub::lab_with(clock, &definitions).await.map_err(no_hub)?;
                ours(hub, reference, plan, driving, clock, selection).await
            }
            Target::Envtest(reference) => {
                let assets = Assets::find(None).map_err(|error| no_hub(error.into()))?;
                let definitions = hub_definitions(&reference.faults);
                let hub = Hub::envtest_with(&assets, EnvtestOptions::default(), &definitions).await;
                ours(hub.map_err(no_hub)?, reference, plan, driving, clock, selection).await
            }
        }
    })
}

/// The lab is all in this process, so that its time can be let run; other hubs have their own time.
pub fn runtime(target: &Target) -> Result<Runtime, Failure> {
    let mut builder = match target {
        Target::Lab(_) => {
            let mut builder = Builder::new_current_thread();
            builder.start_paused(true);
            builder
        }
        Target::Kubeconfig(_) | Target::Envtest(_) => Builder::new_multi_thread(),
    };
    let runtime = builder
        .enable_all()
        .build()
        .context("failed to start the runtime");
    runtime.map_err(Failure::could_not_run)
}

async fn somebody_elses(
    options: &KubeconfigOptions,
    mut plan: Plan,
    driving: Option<&Driving>,
    clock: Clock,
    selection: &Selection,
) -> Result<Evidence, Failure> {
    let hub = Hub::from_kubeconfig(options).await.map_err(no_hub)?;
    plan.driver = match driving {
        Some(driving) => driving.by_file(&hub, clock)?,
        None => None,
    };
    let progress = progress::told(selection, true);
    let seen = collect(&hub, &plan, clock, progress.as_ref(), signals::stop()).await;
    drop(progress);
    let mut evidence = seen.map_err(Failure::could_not_run)?;
    audit::add_or_miss(&mut evidence, &plan.audit_logs);
    Ok(evidence)
}

/// Looks at the reference manager on a hub of our own.
async fn ours(
    hub: Hub,
    reference: Reference,
    plan: Plan,
    driving: Option<&Driving>,
    clock: Clock,
    selection: &Selection,
) -> Result<Evidence, Failure> {
    let seen = side_by_side(&hub, reference, plan, driving, clock, selection)
        .await
        .and_then(|mut evidence| {
            audit::add_own(&mut evidence, &hub).map_err(Failure::could_not_run)?;
            Ok(evidence)
        });
    let stopped = hub.stop().await.map_err(no_hub);
    let evidence = seen?;
    stopped.map(|()| evidence)
}

async fn side_by_side(
    hub: &Hub,
    reference: Reference,
    mut plan: Plan,
    driving: Option<&Driving>,
    clock: Clock,
    selection: &Selection,
) -> Result<Evidence, Failure> {
    let failed =
        |error| Failure::could_not_run(anyhow::Error::new(error).context("the reference manager failed"));
    let client = hub.client_as(Manager::NAME, Manager::NAME).map_err(no_hub)?;
    if let Some(lab) = hub.as_lab() {
        // As envtest's policy has it.
        lab.set_audit_level(AuditLevel::RequestResponse);
    }
    let mut manager = Manager::new(reference.faults, clock);
    plan.members = members::of_the_lab(&manager);
    manager.set_up(&client).await.map_err(failed)?;
    plan.driver = driving.and_then(|driving| driving.by_remote(manager.remote(), clock));
    // The lab's time is let run.
    let progress = progress::told(selection, hub.as_lab().is_none());
    tokio::select! {
        seen = collect(hub, &plan, clock, progress.as_ref(), signals::stop()) => seen.map_err(Failure::could_not_run),
        // It never ends by itself: when it does, it has failed, and nothing more would be seen of it.
        end = manager.run(client) => match end {
            Err(error) => Err(failed(error)),
            Ok(()) => Err(Failure::could_not_run(anyhow!("the reference manager ended"))),
        },
    }
}

pub fn no_hub(error: HubError) -> Failure {
    match error {
        // A flag names what is not there.
        HubError::UnknownContext { .. } => Failure::usage(error),
        _ => Failure::could_not_run(error),
    }
}
