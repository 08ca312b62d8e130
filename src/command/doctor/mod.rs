//! `doctor`: what a run with the same flags would collect, which rules that judges, and what is in its way.

mod checks;
mod diagnosis;
mod evidence;

use std::time::Duration;

use ::evidence::{Gap, Kind};
use clap::Args;
use collect::{
    CollectError, Reached, Survey,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    reach_members,
    requests::read_audit_log,
    survey,
};

use self::diagnosis::Diagnosis;
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
    format: PrintFormat,
}

/// What a run would see first: the hub, and its members.
type Answers = (Connection, Result<Survey, CollectError>, Vec<Reached>);

impl Doctor {
    pub fn execute(self) -> Result<Exit, Failure> {
        let run = self.run.resolve()?;
        let Target::Kubeconfig(options) = &run.target else {
            bail_usage!("a test hub needs no doctor: leave out --hub and --manager");
        };
        self.files.prepare(&run.inputs)?;
        let runtime = runtime(&run.target)?;
        let answers = runtime.block_on(ask(&run, options.clone()));
        // A credential plugin may hang.
        runtime.shutdown_background();
        let diagnosis = diagnose(&run, answers);
        print(&match self.format {
            PrintFormat::Pretty => diagnosis.page(width()),
            PrintFormat::Json => diagnosis.json(),
        })?;
        Ok(diagnosis.exit())
    }
}

async fn ask(run: &RunPlan, mut options: KubeconfigOptions) -> Result<Answers, Failure> {
    let limit = match *options.request_timeout.get_or_insert(REQUEST) {
        Duration::ZERO => Duration::MAX,
        limit => limit.saturating_mul(REQUESTS),
    };
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

fn diagnose(run: &RunPlan, answers: Result<Answers, Failure>) -> Diagnosis {
    let mut diagnosis = Diagnosis::new(&run.plan.claim, run.target.name());
    let (hub, surveyed, reached) = match answers {
        Ok(answers) => answers,
        Err(failure) => {
            diagnosis.add_failure("hub/reached", &failure, checks::OTHER_HUB);
            return diagnosis;
        }
    };
    let logs = &run.plan.audit_logs;
    let log = (!logs.is_empty()).then(|| read_audit_log(logs));
    diagnosis.checks.extend(log.iter().flat_map(checks::audit_log));
    diagnosis.checks.extend(checks::members(&run.plan, &reached));
    let Some(mut requested) = diagnosis.add_hub(&hub, surveyed) else {
        return diagnosis;
    };
    if let Some(driving) = &run.driving {
        evidence::request_driven(&mut requested);
        let permissions = &requested.header.permissions;
        diagnosis.checks.extend(checks::driver(driving, permissions));
    }
    if let Some(Err(error)) = &log {
        let gap = Gap::of(Kind::Requests, error.to_string());
        requested.gaps.push(gap);
    }
    diagnosis.add_evidence(&requested, run);
    diagnosis
        .checks
        .extend(checks::writers(requested, log.and_then(Result::ok)));
    diagnosis
}
