//! Starts test hubs, and the runtime that is right for a hub.

use std::path::Path;

use anyhow::{Context, anyhow};
use collect::clock::Clock;
use evidence::Claim;
use lab::hub::{Hub, assets, envtest_options};
use tokio::runtime::{Builder, Runtime};

use crate::command::{flags::target::Target, terminal::exit::Failure};

/// Starts a test hub, with the CRDs of its implementation.
///
/// # Errors
/// When it does not start, or the target is no test hub.
pub async fn start(target: &Target, claim: &Claim, clock: Clock) -> Result<Hub, Failure> {
    let reference = target.reference();
    let definitions = reference.map_or_else(Vec::new, |reference| reference.hub_definitions(claim));
    let hub = match target {
        Target::Kubeconfig(_) => return Err(Failure::usage(anyhow!("a hub of a kubeconfig runs already"))),
        Target::Lab(_) => Hub::lab_with(clock, &definitions).await,
        Target::Envtest(_) => {
            let assets = assets(Path::new("")).map_err(Failure::no_hub)?;
            Hub::envtest_with(&assets, envtest_options(), &definitions).await
        }
        Target::K3s(_) => {
            tell_of_k3s();
            Hub::k3s_with(&definitions).await
        }
    };
    hub.map_err(Failure::no_hub)
}

/// Builds a runtime. The lab is in this process, so its time is simulated; other hubs have their own time.
pub fn runtime(target: &Target) -> Result<Runtime, Failure> {
    let mut builder = match target {
        Target::Lab(_) => {
            let mut builder = Builder::new_current_thread();
            builder.start_paused(true);
            builder
        }
        Target::Kubeconfig(_) | Target::Envtest(_) | Target::K3s(_) => Builder::new_multi_thread(),
    };
    let runtime = builder
        .enable_all()
        .build()
        .context("failed to start the runtime");
    runtime.map_err(Failure::could_not_run)
}

/// Explains the wait for K3s.
pub fn tell_of_k3s() {
    anstream::eprintln!("note: starting K3s in a container; the first start pulls its image");
}
