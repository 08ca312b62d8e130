//! Asks the hub and the members, within a limit.

use std::{path::PathBuf, time::Duration};

use anyhow::anyhow;
use collect::{
    Inventory, Plan, Reached, Survey,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    reach_members,
    requests::{AuditLog, RequestsError, read_audit_log},
    survey,
};
use tokio::time::timeout;

use super::{check::Check, document::Hub, hub};
use crate::command::{
    flags::{
        driver::Driving,
        plan::Own,
        target::{Reference, Target, TestHub},
    },
    hub::start::{set_up, start},
    terminal::exit::Failure,
};

/// The answers of a hub and its members.
pub struct Examined {
    pub plan: Plan,
    pub hub: Hub,
    pub checks: Vec<Check>,
    /// `None` if the hub did not answer.
    pub survey: Option<Survey>,
    pub reached: Vec<Reached>,
}

/// Asks the hub and the members.
pub async fn examine(
    target: &Target,
    plan: Plan,
    driving: Option<&Driving>,
    own: Own,
    limit: Duration,
) -> Examined {
    let unanswered = plan.clone();
    let examined = match target {
        Target::Kubeconfig(options) => match connect(options, limit).await {
            Ok(hub) => Ok(ask(&hub, plan, driving, limit).await),
            Err(failure) => Err(failure),
        },
        Target::Test(hub, reference) => ask_test_hub(*hub, reference, plan, driving, own, limit).await,
    };
    match examined {
        Ok(examined) => examined,
        Err(failure) => Examined {
            reached: reach_members(&unanswered.members, &unanswered.scope, Clock::system(), limit).await,
            plan: unanswered,
            hub: Hub::default(),
            checks: vec![Check::error("hub/reached", &failure, hub::OTHER_HUB)],
            survey: None,
        },
    }
}

/// Connects to the user's hub. A credential plugin of the kubeconfig may wait for input.
async fn connect(options: &KubeconfigOptions, limit: Duration) -> Result<Connection, Failure> {
    let options = options.clone();
    let connecting = tokio::spawn(async move { Connection::from_kubeconfig(&options).await });
    match timeout(limit, connecting).await {
        Ok(Ok(connected)) => connected.map_err(Failure::no_connection),
        Ok(Err(error)) => Err(Failure::could_not_run(error)),
        Err(_) => Err(Failure::could_not_run(anyhow!(
            "the kubeconfig's credential plugin did not end within {} s; run `kubectl auth whoami` to log in first",
            limit.as_secs()
        ))),
    }
}

/// Starts a test hub with the first objects of the reference implementations, asks it, and stops it.
async fn ask_test_hub(
    hub: TestHub,
    reference: &Reference,
    mut plan: Plan,
    driving: Option<&Driving>,
    own: Own,
    limit: Duration,
) -> Result<Examined, Failure> {
    let clock = Clock::system();
    let hub = start(hub, &reference.hub_definitions(&plan.claim), Vec::new(), clock).await?;
    _ = set_up(&hub, reference, &mut plan, own, None, clock).await?;
    plan.testbed = None;
    let examined = ask(&hub.connection, plan, driving, limit).await;
    hub.stop().await.map_err(Failure::no_hub)?;
    Ok(examined)
}

async fn ask(connection: &Connection, plan: Plan, driving: Option<&Driving>, limit: Duration) -> Examined {
    let clock = Clock::system();
    let writes = driving.is_some_and(Driving::mutations);
    let (surveyed, reached) = futures::join!(
        survey(connection, &plan, writes, clock, limit),
        reach_members(&plan.members, &plan.scope, clock, limit)
    );
    let (described, mut checks, survey) = match surveyed {
        Ok(mut survey) => {
            let described = hub::describe(connection, &survey);
            let inventory = std::mem::replace(&mut survey.inventory, Ok(Inventory::default()));
            let checks = hub::checks(connection, &survey, inventory, &plan);
            (described, checks, Some(survey))
        }
        Err(error) => (hub::unsurveyed(connection), hub::failed(connection, error), None),
    };
    if survey.is_some() {
        checks.extend(consumer_outputs(connection, driving, limit).await);
    }
    Examined {
        plan,
        hub: described,
        checks,
        survey,
        reached,
    }
}

/// Checks that the run can read the outputs that the driver file declares for its consumer.
async fn consumer_outputs(hub: &Connection, driving: Option<&Driving>, limit: Duration) -> Vec<Check> {
    const CHECK: &str = "evidence/outputs";
    let Some(Driving::File { file, .. }) = driving else {
        return Vec::new();
    };
    let outputs = file.consumer.iter().flat_map(|consumer| &consumer.outputs);
    let mut checks = Vec::new();
    for output in outputs {
        let reader = output.reader().name();
        let late = || {
            format!(
                "{reader} did not list the consumer's outputs within {} s",
                limit.as_secs()
            )
        };
        let read = timeout(limit, output.check(hub))
            .await
            .unwrap_or_else(|_| Err(late()));
        checks.push(match read {
            Ok(()) => Check::ok(CHECK, &format!("the consumer's outputs can be read: {reader}")),
            Err(why) => Check::warn(
                CHECK,
                &why,
                "start the consumer first, and grant what `clusterprofile-conformance rbac --role consumer --driver FILE` prints",
            ),
        });
    }
    checks
}

/// Reads the audit logs that the user named; `None` without logs, or if that takes longer than the limit.
pub async fn read_logs(logs: &[PathBuf], limit: Duration) -> Option<Result<AuditLog, RequestsError>> {
    if logs.is_empty() {
        return None;
    }
    let logs = logs.to_vec();
    let reading = tokio::task::spawn_blocking(move || read_audit_log(&logs));
    timeout(limit, reading).await.ok()?.ok()
}
