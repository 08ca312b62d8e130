//! From a hub to evidence.

use anyhow::{Context, anyhow};
use clusterprofile_conformance::{
    clock::Clock,
    collect::{CollectError, Plan, collect},
    evidence::Evidence,
    hub::{Hub, HubError, KubeconfigOptions},
    lab::manager::{Manager, hub_definitions},
};
use tokio::runtime::{Builder, Runtime};

use super::{
    Failure,
    progress::Line,
    signals,
    target::{Reference, Target},
};

/// Looks at the target for as long as the plan says, or until a signal.
///
/// # Errors
/// When there is no hub, or nothing can be seen of it.
pub fn observe(target: Target, plan: &Plan) -> Result<Evidence, Failure> {
    let runtime = runtime(&target)?;
    runtime.block_on(async {
        let clock = Clock::system();
        match target {
            Target::Kubeconfig(options) => somebody_elses(&options, plan, clock).await,
            Target::Lab(reference) => {
                let hub = Hub::lab(clock, hub_definitions(&reference.faults))
                    .await
                    .map_err(no_hub)?;
                ours(hub, reference, plan, clock).await
            }
            Target::Envtest(reference) => {
                let hub = Hub::envtest(hub_definitions(&reference.faults))
                    .await
                    .map_err(no_hub)?;
                ours(hub, reference, plan, clock).await
            }
        }
    })
}

/// The lab is all in this process, so that its time can be let run; other hubs have their own time.
fn runtime(target: &Target) -> Result<Runtime, Failure> {
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
    runtime.map_err(|error| Failure::could_not_run(error))
}

async fn somebody_elses(options: &KubeconfigOptions, plan: &Plan, clock: Clock) -> Result<Evidence, Failure> {
    let hub = Hub::from_kubeconfig(options).await.map_err(no_hub)?;
    collect(&hub, plan, clock, &Line::new(), signals::stop())
        .await
        .map_err(nothing_seen)
}

/// Looks at the reference manager on a hub of our own.
async fn ours(hub: Hub, reference: Reference, plan: &Plan, clock: Clock) -> Result<Evidence, Failure> {
    let client = hub.client_as(Manager::NAME, Manager::NAME).map_err(no_hub)?;
    let mut manager = Manager::new(reference.faults, clock);
    let failed =
        |error| Failure::could_not_run(anyhow::Error::new(error).context("the reference manager failed"));
    manager.set_up(&client).await.map_err(failed)?;
    let mut life = tokio::spawn(manager.run(client));
    let seen = tokio::select! {
        seen = collect(&hub, plan, clock, &Line::new(), signals::stop()) => seen.map_err(nothing_seen),
        // It never ends by itself, so what it says is why it failed: nothing more would be seen of it.
        end = &mut life => match end {
            Ok(Err(error)) => Err(failed(error)),
            Ok(Ok(())) => Err(Failure::could_not_run(anyhow!("the reference manager ended"))),
            Err(error) => Err(Failure::could_not_run(anyhow::Error::new(error).context("the reference manager failed"))),
        },
    };
    life.abort();
    let stopped = hub.stop().await.map_err(no_hub);
    let evidence = seen?;
    stopped.map(|()| evidence)
}

fn no_hub(error: HubError) -> Failure {
    match error {
        // A flag names what is not there.
        HubError::UnknownContext { .. } => Failure::usage(error),
        _ => Failure::could_not_run(error),
    }
}

fn nothing_seen(error: CollectError) -> Failure {
    match error {
        CollectError::Hub(error) => no_hub(error),
        _ => Failure::could_not_run(error),
    }
}
