//! From a hub to evidence.

use collect::{
    Plan,
    clock::Clock,
    collect,
    connect::{Connection, KubeconfigOptions},
};
use evidence::{Evidence, api::Role};
use lab::hub::{AuditLevel, Hub};
use tokio_util::sync::CancellationToken;

use super::recording::Watching;
use crate::command::{
    flags::{
        driver::Driving,
        input::{add_audit_logs_or_gap, add_own_audit_log},
        plan::Own,
        target::{Reference, Target},
    },
    hub::{runtime, set_up, start},
    terminal::{exit::Failure, signals},
};

/// Sources of evidence besides the watch and the plan.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub driving: Option<&'a Driving>,
    pub own: Own,
}

/// Collects evidence from the target for as long as the plan says, or until a signal.
pub fn observe(
    target: &Target,
    plan: Plan,
    sources: Sources<'_>,
    watching: &Watching<'_>,
) -> Result<Evidence, Failure> {
    let runtime = runtime(target)?;
    runtime.block_on(async {
        let clock = Clock::system();
        let (hub, reference) = match target {
            Target::Kubeconfig(options) => {
                return observe_kubeconfig(options, plan, sources.driving, clock, watching).await;
            }
            Target::Test(hub, reference) => (*hub, reference),
        };
        let definitions = reference.hub_definitions(&plan.claim);
        let stop = signals::stop();
        // A signal must not leave a container behind.
        let hub = tokio::select! {
            hub = start(hub, &definitions, Vec::new(), clock) => hub?,
            () = stop.cancelled() => return Err(Failure::stopped()),
        };
        observe_test_hub(hub, reference, plan, sources, clock, watching, stop).await
    })
}

async fn observe_kubeconfig(
    options: &KubeconfigOptions,
    mut plan: Plan,
    driving: Option<&Driving>,
    clock: Clock,
    watching: &Watching<'_>,
) -> Result<Evidence, Failure> {
    let hub = Connection::from_kubeconfig(options)
        .await
        .map_err(Failure::no_connection)?;
    match driving {
        Some(driving) if plan.claim.edition_of(Role::Consumer).is_some() => {
            plan.testbed = driving.testbed_by_file(&hub, clock).await?;
            driving.name_consumer(&mut plan.claim);
        }
        Some(driving) => plan.driver = driving.by_file(&hub, clock)?,
        None => {}
    }
    watch_testbed_namespaces(&mut plan);
    let stop = signals::stop();
    let progress = watching.progress(true);
    let seen = collect(&hub, &plan, clock, progress.as_ref(), stop).await;
    drop(progress);
    let mut evidence = seen.map_err(|error| Failure::no_evidence(error, &hub))?;
    add_audit_logs_or_gap(&mut evidence, &plan.audit_logs);
    Ok(evidence)
}

/// Collects evidence from the reference implementations on a test hub. They end only when they fail.
async fn observe_test_hub(
    hub: Hub,
    reference: &Reference,
    mut plan: Plan,
    Sources { driving, own }: Sources<'_>,
    clock: Clock,
    watching: &Watching<'_>,
    stop: CancellationToken,
) -> Result<Evidence, Failure> {
    if let Some(lab) = hub.as_lab() {
        // The same as envtest's policy.
        lab.set_audit_level(AuditLevel::RequestResponse);
    }
    let observing = async {
        let running = set_up(&hub, reference, &mut plan, own, driving, clock).await?;
        watch_testbed_namespaces(&mut plan);
        // The lab's time is simulated.
        let progress = watching.progress(hub.as_lab().is_none());
        let seen = tokio::select! {
            seen = collect(&hub.connection, &plan, clock, progress.as_ref(), stop) => seen,
            failure = running => return Err(failure),
        };
        drop(progress);
        let mut evidence = seen.map_err(|error| Failure::no_evidence(error, &hub.connection))?;
        if own.audit_log {
            let added = add_own_audit_log(&mut evidence, &hub).await;
            added.map_err(Failure::could_not_run)?;
        }
        Ok(evidence)
    };
    let observed = observing.await;
    let stopped = hub.stop().await.map_err(Failure::no_hub);
    let evidence = observed?;
    stopped.map(|()| evidence)
}

/// Restricts a run with a testbed to the namespaces of the testbed.
fn watch_testbed_namespaces(plan: &mut Plan) {
    if let Some(testbed) = &plan.testbed {
        plan.scope.namespaces = testbed.namespaces();
        // The run creates the objects that the scope names.
        plan.wait = true;
    }
}
