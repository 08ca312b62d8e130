//! What a run of the suite sees of the reference scheduler on the lab's hub.

use std::{sync::Arc, time::Duration};

use collect::{
    Plan, Quiet, Wish,
    clock::Clock,
    collect,
    driver::{DriverPlan, Fleet, Patience, new_run_id},
    requests::{merge_into, read_audit_text},
};
use evidence::{
    Claim, Evidence, Identity,
    api::{Edition, Role, names},
};
use lab::{
    driver::ReferenceHooks,
    hub::{AuditLevel, Hub},
    scheduler::{Fault, Scheduler, hub_definitions},
};
use tokio_util::sync::CancellationToken;

use crate::paused::paused;

/// How long the run looks: the scheduler's script ends before.
const WINDOW: Duration = Duration::from_secs(18 * 60);

/// Whether a run has the scheduler act.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Drive {
    No,
    Yes,
}

/// Evidence of a scheduler with these faults, by an edition.
pub fn observe(edition: Edition, faults: &[&str], drive: Drive) -> Evidence {
    let faults: Vec<Fault> = faults
        .iter()
        .map(|id| Fault::parse(id).expect("a fault"))
        .collect();
    let given_scheduler = given_scheduler(&faults);
    paused(async {
        let clock = Clock::system();
        let hub = Hub::lab_with(clock, &hub_definitions(&faults))
            .await
            .expect("a hub");
        let lab = hub.as_lab().expect("the lab");
        lab.set_audit_level(AuditLevel::RequestResponse);
        let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).expect("a client");
        let mut scheduler = Scheduler::new(faults, clock);
        scheduler.set_up(&client).await.expect("a world");
        let hooks = ReferenceHooks::new([(Role::Scheduler, scheduler.remote())], clock);
        let driver = DriverPlan {
            run: new_run_id(),
            hooks: Arc::new(hooks),
            fleet: Fleet::MadeByHook,
            upgrade_to: None,
            patience: Patience::default(),
            scale: None,
            own_namespace: None,
            mutations: true,
            journal: Arc::default(),
        };
        let mut plan = Plan {
            driver: (drive == Drive::Yes).then_some(driver),
            ..plan(edition)
        };
        plan.scope.scheduler = given_scheduler;
        let mut evidence = tokio::select! {
            seen = collect(&hub.connection, &plan, clock, &Quiet, CancellationToken::new()) => seen.expect("evidence"),
            ended = scheduler.run(client) => panic!("the scheduler ended: {ended:?}"),
        };
        let log = read_audit_text("the audit log", lab.audit_log().as_bytes()).expect("an audit log");
        merge_into(&mut evidence, log);
        evidence
    })
}

/// The scheduler that the flags of these faults name.
fn given_scheduler(faults: &[Fault]) -> Option<String> {
    let mut flags = faults.iter().flat_map(|fault| &fault.info().flags);
    flags.find(|flag| **flag == "--scheduler")?;
    flags.next().map(|name| (*name).to_owned())
}

fn plan(edition: Edition) -> Plan {
    Plan {
        claim: Claim {
            edition,
            scheduler: Identity {
                users: vec![Scheduler::NAME.to_owned()],
                field_managers: vec![Scheduler::NAME.to_owned()],
                agents: Vec::new(),
            },
            ..Claim::default()
        },
        // The version in which a published API server stores the objects.
        api_version: Some(names::VERSIONS[1].to_owned()),
        probe: Wish::No("not wanted".into()),
        ..Plan::watching(WINDOW)
    }
}
