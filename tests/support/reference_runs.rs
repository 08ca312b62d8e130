//! Runs of the suite on the reference manager and the reference scheduler, over half an hour of simulated time.

use std::{
    fs,
    process::{Command, Output},
    sync::Arc,
    time::Duration,
};

use collect::{
    Plan, Quiet, Wish,
    clock::Clock,
    collect,
    driver::{DriverPlan, Fleet, Patience, new_run_id},
    requests::{merge_into, read_audit_text},
};
use evidence::{
    Claim, Digester, Evidence, Identity,
    api::{Edition, Role, names},
    read_input,
};
use lab::{
    driver::ReferenceHooks,
    hub::{AuditLevel, Hub},
    manager::Manager,
    scheduler::{Fault, Scheduler, hub_definitions},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The scheduler's script ends before.
const WINDOW: Duration = Duration::from_secs(18 * 60);

/// Runs a future on one thread by tokio's paused clock.
pub fn paused<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// A run of the binary: its evidence, its JSON report, and what it printed.
// Tests of the lab read only the evidence.
#[allow(dead_code)]
pub struct ManagerRun {
    pub evidence: Evidence,
    pub report: Value,
    pub output: Output,
}

/// Runs the binary on the reference manager, as `--manager` names it.
pub fn observe_manager(edition: Edition, manager: &str, is_driven: bool, flags: &[&str]) -> ManagerRun {
    let folder = TempDir::new().expect("a folder");
    let [record, report] = ["evidence", "report.json"].map(|name| folder.path().join(name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"));
    command.args(["run", "--hub", "lab", "--manager", manager]);
    command.args(["--edition", edition.name(), "--feature", "consumer-secrets"]);
    command.args(if is_driven {
        &["--driver", "reference", "--allow-mutations"][..]
    } else {
        &["--driver", "none"]
    });
    for consumer in Manager::CONSUMERS {
        command.args(["--consumer", consumer]);
    }
    command
        .args(flags)
        .arg("--record")
        .arg(&record)
        .arg("--json")
        .arg(&report);
    let output = command.output().expect("the command runs");
    match read_input(&record, &Digester::new([7; 32])) {
        Ok(input) => ManagerRun {
            evidence: input.evidence,
            report: serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON"),
            output,
        },
        Err(error) => panic!("{manager}: {error}\n{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// The evidence of a scheduler with these faults.
pub fn observe_scheduler(edition: Edition, faults: &[&str], is_driven: bool) -> Evidence {
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
            driver: is_driven.then_some(driver),
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
