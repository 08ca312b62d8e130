//! `doctor`: what a run with the same flags would collect, which rules that judges, and what is in its way.

mod diagnosis;
mod evidence;
mod hub;
mod sources;

use std::{path::PathBuf, time::Duration};

use ::evidence::{Asked, Evidence, Kind, api::Role};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use collect::{
    Plan, Reached,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    reach_members,
    requests::{AuditLog, RequestsError, read_audit_log},
    survey,
};
use report::count;
use serde_json::json;
use tokio::{task::spawn_blocking, time::timeout};

use self::{
    diagnosis::{Check, Diagnosis},
    hub::HubState,
};
use crate::command::{
    flags::{
        RunFlags, RunPlan,
        driver::Driving,
        output::FileFlags,
        plan::Own,
        target::{Reference, Target, TestHub},
    },
    hub::{runtime, set_up, start},
    terminal::{
        exit::{Exit, Failure},
        print, width,
    },
};

/// What a run collects of a consumer.
const TESTBED_KINDS: [Kind; 5] = [
    Kind::Testbed,
    Kind::MemberCalls,
    Kind::PluginCalls,
    Kind::Mentions,
    Kind::Outputs,
];
/// The default limit of a request to the hub.
const REQUEST: Duration = Duration::from_secs(10);
/// The survey and the members may each take as long as so many requests.
const REQUESTS: u32 = 3;

const EXAMPLES: &str = "\
Examples:
  Check the hub and the permissions, with the flags of the run:
    clusterprofile-conformance doctor --context hub
  Check all files of a run, and ask each member:
    clusterprofile-conformance doctor --config conformance.yaml --members members.yaml

Exit codes: 0 a run can begin, 2 bad usage, a file that cannot be used, or nothing on the hub matches --namespace,
--cluster-manager or --scheduler, 3 the hub has no ClusterProfile, 4 a run could not begin.";

/// Check in seconds what a run with the same flags would collect and judge
#[derive(Debug, Args)]
#[command(after_help = "--help shows all flags and examples.", after_long_help = EXAMPLES)]
pub struct Doctor {
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    files: FileFlags,
    /// How to print the diagnosis
    // `run` has a flag of the same name with other values.
    #[arg(
        id = "diagnosis",
        long = "format",
        value_enum,
        default_value_t,
        help_heading = "Output"
    )]
    format: Format,
}

/// How to print the diagnosis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Pretty,
    /// One JSON object
    Json,
}

impl Doctor {
    /// Checks everything and prints the diagnosis.
    ///
    /// # Errors
    /// When the flags contradict each other, or standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let diagnosis = self.diagnose()?;
        print(&match self.format {
            Format::Pretty => diagnosis.page(width()),
            Format::Json => diagnosis.json(),
        })?;
        Ok(diagnosis.exit())
    }

    fn diagnose(&self) -> Result<Diagnosis, Failure> {
        let mut errors = Vec::new();
        let mut run = self.run.resolve(&mut |flag, failure| {
            errors.push(file_error(flag, &failure));
            Ok(())
        })?;
        let limit = limit_requests(&mut run.target);
        let logs = read_logs(run.plan.audit_logs.clone(), limit);
        let own = self.run.plan.own();
        let runtime = runtime(&run.target)?;
        let (answers, log) = runtime.block_on(async { futures::join!(ask(&run, own, limit), logs) });
        // A credential plugin may hang.
        runtime.shutdown_background();

        let Answers { plan, hub, reached } = answers;
        let mut diagnosis = Diagnosis::new(plan.claim.edition, hub.description);
        diagnosis.checks.extend(hub.checks);
        if let Some(mut requested) = hub.requested {
            let reads_own_log = own.audit_log && run.target.reference().is_some();
            request_planned(&mut requested, run.driving.as_ref(), reads_own_log);
            diagnosis.add_evidence(&requested, &run.selection, &plan, &errors);
            let log = log.as_ref().and_then(|log| log.as_ref().ok());
            diagnosis.checks.extend(sources::writers(&requested, log));
        }
        diagnosis.checks.extend(sources::members(&plan, &reached));
        if let Some(driving) = &run.driving {
            diagnosis
                .checks
                .extend(sources::driver(driving, &hub.permissions));
        }
        diagnosis.checks.extend(log.iter().flat_map(sources::audit_log));
        diagnosis.checks.extend(errors);
        diagnosis.checks.extend(self.outputs(&run.inputs));
        Ok(diagnosis)
    }

    /// Checks that the reports can be written.
    fn outputs(&self, inputs: &[PathBuf]) -> Option<Check> {
        match self.files.prepare(inputs) {
            Ok(prepared) if prepared.0.is_empty() => None,
            Ok(prepared) => {
                let fact = format!("{} can be written", count(prepared.0.len(), "file"));
                Some(Check::ok("files/outputs", &fact))
            }
            Err(failure) => {
                let remedy = "name a file in a folder that you may write to";
                Some(Check::error("files/outputs", &failure, remedy))
            }
        }
    }
}

/// The error of the file that a flag names.
fn file_error(flag: &str, failure: &Failure) -> Check {
    let check = match flag {
        "--members" => evidence::MEMBERS,
        "--provider-file" => "evidence/plugins",
        "--audit-log" => evidence::AUDIT_LOG,
        "--driver" => evidence::DRIVER,
        _ => "files/waivers",
    };
    Check::error(check, failure, &format!("fix the file, or leave out {flag}"))
}

/// Adds the evidence that a run plans only once it is connected.
fn request_planned(requested: &mut Evidence, driving: Option<&Driving>, reads_own_log: bool) {
    let is_consumer = requested.header.claim.edition_of(Role::Consumer).is_some();
    let planned: &[Kind] = match driving {
        // The reference consumer needs no driver file.
        _ if is_consumer && (driving.is_some() || reads_own_log) => &TESTBED_KINDS,
        Some(_) => &[Kind::Driver],
        None => &[],
    };
    let own_log = reads_own_log.then_some(&Kind::Requests);
    for kind in planned.iter().chain(own_log) {
        requested.header.asked.insert(*kind, Asked::Yes);
    }
}

/// Limits the requests to the user's hub, and returns how long the survey may take in all.
fn limit_requests(target: &mut Target) -> Duration {
    let limit = match target {
        Target::Kubeconfig(options) => *options.request_timeout.get_or_insert(REQUEST),
        Target::Test(..) => REQUEST,
    };
    if limit.is_zero() {
        Duration::MAX
    } else {
        limit.saturating_mul(REQUESTS)
    }
}

/// The answers of a hub and of its members.
struct Answers {
    /// The plan, with the members of a test hub.
    plan: Plan,
    hub: HubState,
    reached: Vec<Reached>,
}

/// Asks the hub and the members.
async fn ask(run: &RunPlan, own: Own, limit: Duration) -> Answers {
    let plan = run.plan.clone();
    let driving = run.driving.as_ref();
    let answers = match &run.target {
        Target::Kubeconfig(options) => match connect(options, limit).await {
            Ok(hub) => Ok(ask_hub(&hub, plan, driving, limit).await),
            Err(failure) => Err(failure),
        },
        Target::Test(hub, reference) => ask_test_hub(*hub, reference, plan, own, limit).await,
    };
    answers.unwrap_or_else(|failure| Answers {
        plan: run.plan.clone(),
        hub: HubState {
            description: json!({"source": run.target.name()}),
            checks: vec![Check::error("hub/reached", &failure, hub::OTHER_HUB)],
            ..HubState::default()
        },
        reached: Vec::new(),
    })
}

async fn ask_test_hub(
    hub: TestHub,
    reference: &Reference,
    mut plan: Plan,
    own: Own,
    limit: Duration,
) -> Result<Answers, Failure> {
    let clock = Clock::system();
    let hub = start(hub, &reference.hub_definitions(&plan.claim), Vec::new(), clock).await?;
    _ = set_up(&hub, reference, &mut plan, own, None, clock).await?;
    plan.testbed = None;
    let answers = ask_hub(&hub.connection, plan, None, limit).await;
    hub.stop().await.map_err(Failure::no_hub)?;
    Ok(answers)
}

async fn ask_hub(hub: &Connection, plan: Plan, driving: Option<&Driving>, limit: Duration) -> Answers {
    let clock = Clock::system();
    let writes = driving.is_some_and(Driving::mutations);
    let (surveyed, reached) = futures::join!(
        survey(hub, &plan, writes, clock, limit),
        reach_members(&plan.members, &plan.scope, clock, limit)
    );
    Answers {
        hub: HubState::of(hub, surveyed, &plan),
        plan,
        reached,
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

/// Reads the audit logs that the user named; `None` without logs, or if that takes longer than the limit.
async fn read_logs(logs: Vec<PathBuf>, limit: Duration) -> Option<Result<AuditLog, RequestsError>> {
    if logs.is_empty() {
        return None;
    }
    let reading = spawn_blocking(move || read_audit_log(&logs));
    timeout(limit, reading).await.ok()?.ok()
}
