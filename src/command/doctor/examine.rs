//! Asks the hub and the members.

use std::time::Duration;

use anyhow::anyhow;
use collect::{
    Plan, Reached,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    reach_members,
    requests::{AuditSample, RequestsError},
    survey,
};
use evidence::{Evidence, api::ClusterProfile};
use tokio::time::timeout;

use super::{check::Check, document::Hub, hub, outputs::of_consumer};
use crate::command::{
    flags::{
        driver::Driving,
        plan::Own,
        target::{Reference, Target},
    },
    hub::{reference::References, start::start},
    terminal::exit::Failure,
};

/// What was found out of a hub and its members.
pub struct Examined {
    pub plan: Plan,
    /// What is known of the hub.
    pub hub: Hub,
    /// What is wrong with the hub, and what is not.
    pub checks: Vec<Check>,
    /// What a run would ask for; none if the hub could not be asked.
    pub evidence: Option<Evidence>,
    /// Some of the profiles that a run would judge.
    pub profiles: Vec<ClusterProfile>,
    pub reached: Vec<Reached>,
    pub sample: Option<Result<AuditSample, RequestsError>>,
    /// Whether the hub's own audit log is read, without being named.
    pub own_log: bool,
}

impl Examined {
    fn nothing(plan: Plan, checks: Vec<Check>) -> Self {
        Self {
            plan,
            checks,
            hub: Hub::default(),
            evidence: None,
            profiles: Vec::new(),
            reached: Vec::new(),
            sample: None,
            own_log: false,
        }
    }
}

/// Asks the hub, then the members.
pub async fn examine(
    target: &Target,
    plan: Plan,
    driving: Option<&Driving>,
    own: Own,
    limit: Duration,
) -> Examined {
    let clock = Clock::system();
    match (target, target.reference()) {
        (Target::Kubeconfig(options), _) => match connect(options, limit).await {
            Ok(hub) => ask(&hub, plan, driving, clock, limit).await,
            Err(failure) => Examined {
                reached: reach_members(&plan.members, &plan.scope, clock, limit).await,
                ..Examined::nothing(plan, vec![Check::error("hub/reached", &failure)])
            },
        },
        (_, Some(reference)) => match ask_own(target, reference, &plan, driving, own, limit).await {
            Ok(examined) => Examined {
                own_log: own.audit_log,
                ..examined
            },
            Err(failure) => Examined::nothing(plan, vec![Check::error("hub/reached", &failure)]),
        },
        (_, None) => Examined::nothing(plan, Vec::new()),
    }
}

/// Connects to the user's hub. A credential plugin of the kubeconfig may wait for somebody.
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

/// Starts a hub with the reference manager's first objects on it, asks it, and stops it.
async fn ask_own(
    target: &Target,
    reference: &Reference,
    plan: &Plan,
    driving: Option<&Driving>,
    own: Own,
    limit: Duration,
) -> Result<Examined, Failure> {
    let clock = Clock::system();
    let hub = start(target, &plan.claim, clock).await?;
    let mut plan = plan.clone();
    let references = References::set_up(&hub, reference.clone(), &plan.claim, clock).await?;
    references.complete(&mut plan, own);
    let examined = ask(&hub.connection, plan, driving, clock, limit).await;
    hub.stop().await.map_err(Failure::no_hub)?;
    Ok(examined)
}

async fn ask(
    connection: &Connection,
    plan: Plan,
    driving: Option<&Driving>,
    clock: Clock,
    limit: Duration,
) -> Examined {
    let writes = driving.is_some_and(Driving::mutations);
    let members = reach_members(&plan.members, &plan.scope, clock, limit);
    let (surveyed, reached) = futures::join!(survey(connection, &plan, writes, clock, limit), members);
    let manager = plan.scope.cluster_manager.clone();
    let mut profiles = Vec::new();
    let (hub, evidence, mut checks) = match surveyed {
        Ok(mut found) => {
            profiles = std::mem::take(&mut found.profiles);
            (
                hub::describe(connection, &found),
                Some(found.evidence.clone()),
                hub::checks(connection, found, manager.as_deref()),
            )
        }
        Err(error) => {
            let known = Hub {
                server: hub::address(connection),
                ..Hub::default()
            };
            (known, None, hub::failed(connection, error))
        }
    };
    if evidence.is_some() {
        checks.extend(of_consumer(connection, driving, limit).await);
    }
    Examined {
        hub,
        checks,
        evidence,
        profiles,
        reached,
        ..Examined::nothing(plan, Vec::new())
    }
}
