//! `doctor`: what a run with the same flags would collect, which rules that judges, and what is in its way.

mod checks;
mod diagnosis;
mod evidence;

use std::{path::PathBuf, time::Duration};

use ::evidence::{Gap, Kind};
use clap::Args;
use collect::{
    CollectError, Reached, Survey,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    reach_members,
    requests::{AuditLog, RequestsError, read_audit_log},
    survey,
};
use serde_json::json;
use tokio::{task::spawn_blocking, time::timeout};

use self::diagnosis::{Check, Diagnosis};
use crate::command::{
    flags::{
        RunFlags, RunPlan,
        driver::Driving,
        output::{FileFlags, PrintFormat},
        target::Target,
    },
    hub::runtime,
    terminal::{
        exit::{Exit, Failure, bail_usage},
        print, width,
    },
};

/// The default limit of a request to the hub.
const REQUEST: Duration = Duration::from_secs(10);
/// The survey, the members, and the audit logs may each take as long as so many requests.
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
    format: PrintFormat,
}

impl Doctor {
    pub fn execute(self) -> Result<Exit, Failure> {
        let diagnosis = self.diagnose()?;
        print(&match self.format {
            PrintFormat::Pretty => diagnosis.page(width()),
            PrintFormat::Json => diagnosis.json(),
        })?;
        Ok(diagnosis.exit())
    }

    fn diagnose(&self) -> Result<Diagnosis, Failure> {
        let mut errors = Vec::new();
        let run = self.run.resolve(&mut |flag, failure| {
            errors.push(file_error(flag, &failure));
            Ok(())
        })?;
        let Target::Kubeconfig(options) = &run.target else {
            bail_usage!("a test hub needs no doctor: leave out --hub and --manager");
        };
        let mut diagnosis = Diagnosis::new(&run.plan.claim, json!({"source": run.target.name()}));
        diagnosis.checks = errors;
        let limit = limit(options);
        let logs = read_logs(run.plan.audit_logs.clone(), limit);
        let runtime = runtime(&run.target)?;
        let (answers, log) =
            runtime.block_on(async { futures::join!(ask(&run, options.clone(), limit), logs) });
        // A credential plugin may hang.
        runtime.shutdown_background();
        diagnosis.checks.extend(log.iter().flat_map(checks::audit_log));
        let mut permissions = Vec::new();
        match answers {
            Ok((hub, surveyed, reached)) => {
                if let Some(mut requested) = diagnosis.add_hub(&hub, surveyed) {
                    permissions.clone_from(&requested.header.permissions);
                    if run.driving.is_some() {
                        evidence::request_driven(&mut requested);
                    }
                    if let Some(Err(error)) = &log {
                        let gap = Gap::of(Kind::Requests, error.to_string());
                        requested.gaps.push(gap);
                    }
                    diagnosis.add_evidence(&requested, &run.selection, &run.plan);
                    let log = log.as_ref().and_then(|log| log.as_ref().ok());
                    diagnosis.checks.extend(checks::writers(requested, log));
                }
                diagnosis.checks.extend(checks::members(&run.plan, &reached));
            }
            Err(failure) => {
                let failed = Check::error("hub/reached", &failure, checks::OTHER_HUB);
                diagnosis.checks.push(failed);
            }
        }
        let driving = run.driving.iter();
        diagnosis
            .checks
            .extend(driving.flat_map(|driving| checks::driver(driving, &permissions)));
        if let Err(failure) = self.files.prepare(&run.inputs) {
            let remedy = "name a file in a folder that you may write to";
            let failed = Check::error("files/outputs", &failure, remedy);
            diagnosis.checks.push(failed);
        }
        Ok(diagnosis)
    }
}

fn file_error(flag: &str, failure: &Failure) -> Check {
    let check = match flag {
        "--members" => evidence::MEMBERS,
        "--provider-file" => evidence::PLUGINS,
        "--audit-log" => evidence::AUDIT_LOG,
        "--driver" => evidence::DRIVER,
        _ => "files/waivers",
    };
    Check::error(check, failure, &format!("fix the file, or leave out {flag}"))
}

/// What a run would see first: the hub, and its members.
type Answers = (Connection, Result<Survey, CollectError>, Vec<Reached>);

/// The limit of what is asked before a run.
fn limit(options: &KubeconfigOptions) -> Duration {
    match options.request_timeout.unwrap_or(REQUEST) {
        Duration::ZERO => Duration::MAX,
        limit => limit.saturating_mul(REQUESTS),
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

async fn ask(run: &RunPlan, mut options: KubeconfigOptions, limit: Duration) -> Result<Answers, Failure> {
    options.request_timeout.get_or_insert(REQUEST);
    let hub = Connection::from_kubeconfig(&options)
        .await
        .map_err(Failure::no_connection)?;
    let (plan, clock) = (&run.plan, Clock::system());
    let writes = run.driving.as_ref().is_some_and(Driving::mutations);
    let (surveyed, reached) = futures::join!(
        survey(&hub, plan, writes, clock, limit),
        reach_members(&plan.members, &plan.scope, clock, limit)
    );
    Ok((hub, surveyed, reached))
}
