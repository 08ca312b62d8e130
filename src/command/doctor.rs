//! `doctor`: what a run with the same flags would collect, which rules that judges, and what is in its way.

mod diagnosis;
mod evidence;
mod hub;
mod sources;

use std::{path::PathBuf, time::Duration};

use ::evidence::{Asked, Claim, Evidence, Kind, Scope, api::Role};
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use collect::{
    CollectError, Inventory, Members, Plan, Reached, Survey,
    clock::Clock,
    connect::{Connection, KubeconfigOptions},
    reach_members,
    requests::{AuditLog, RequestsError, read_audit_log},
    survey,
};
use report::count;
use serde_json::Value;
use tokio::{task::spawn_blocking, time::timeout};

use self::{
    diagnosis::{Check, Diagnosis},
    evidence::EvidenceChecks,
};
use crate::command::{
    config::ConfigFlags,
    flags::{
        audit,
        claim::ClaimFlags,
        driver::{DriverFlags, Driving},
        members,
        output::FileFlags,
        plan::{Own, PlanFlags},
        scope::ScopeFlags,
        selection::SelectionFlags,
        target::{Target, TargetFlags},
        waivers,
    },
    hub::start::{runtime, set_up, start},
    terminal::{
        exit::{Exit, Failure},
        print::{print, width},
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
    selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    #[command(flatten)]
    target: TargetFlags,
    #[command(flatten)]
    scope: ScopeFlags,
    #[command(flatten)]
    plan: PlanFlags,
    #[command(flatten)]
    driver: DriverFlags,
    #[command(flatten)]
    pub claim: ClaimFlags,
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
        if let Some(text) = &self.config.printed {
            return print(text).map(|()| Exit::Success);
        }
        let format = self.format;
        let diagnosis = self.diagnose()?;
        print(&match format {
            Format::Pretty => diagnosis.page(width()),
            Format::Json => diagnosis.json(),
        })?;
        Ok(diagnosis.exit())
    }

    fn diagnose(self) -> Result<Diagnosis, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        self.claim.apply(&mut claim)?;
        self.scope.apply(&mut scope);
        let selection = self.selection.clone().resolve(&claim)?;
        let mut target = self.target.clone().resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);
        let limit = limit_requests(&mut target);

        let mut errors = Vec::new();
        let (members, mut inputs) = self.members(&target, &mut errors);
        let mut plan = self.plan.plan(claim, scope, &target, members)?;
        plan.wait |= self.driver.file().is_some();
        let driving = self.driver.resolve(&target, &plan).unwrap_or_else(|failure| {
            let remedy = "fix the file, or leave out --driver";
            errors.push(Check::error(evidence::DRIVER, &failure, remedy));
            None
        });
        inputs.extend(plan.audit_logs.clone());
        let files = self.files(&target, &inputs);
        if let Err(failure) = audit::check(&plan.audit_logs) {
            errors.push(Check::error(evidence::AUDIT_LOG, &failure, sources::OTHER_LOG));
            plan.audit_logs.clear();
        }

        let own = self.plan.own();
        let reads_own_log = own.audit_log && target.reference().is_some();
        let logs = plan.audit_logs.clone();
        let runtime = runtime(&target)?;
        let asking = Asking {
            driving: driving.as_ref(),
            own,
            limit,
        };
        let (answers, log) =
            runtime.block_on(async { futures::join!(asking.ask(&target, plan), read_logs(&logs, limit)) });
        // A credential plugin may hang.
        runtime.shutdown_background();

        let mut diagnosis = Diagnosis::new(answers.plan.claim.edition, answers.hub, answers.checks);
        let mut judged = None;
        if let Some(survey) = &answers.survey {
            let requested = requested(survey, &answers.plan, driving.as_ref(), reads_own_log);
            let mut checks = EvidenceChecks::new(&requested, &selection, &answers.plan, &errors);
            diagnosis.checks.extend(checks.all(&answers.plan));
            judged = Some(diagnosis.count(&checks));
        }
        diagnosis
            .checks
            .extend(sources::members(&answers.plan, &answers.reached));
        if let Some(driving) = &driving {
            let header = answers.survey.as_ref().map(|survey| &survey.evidence.header);
            let permissions = header.map(|header| &*header.permissions).unwrap_or_default();
            diagnosis.checks.extend(sources::driver(driving, permissions));
        }
        diagnosis.checks.extend(log.iter().flat_map(sources::audit_log));
        if let Some(survey) = &answers.survey {
            let log = log.as_ref().and_then(|log| log.as_ref().ok());
            let writers = sources::writers(&answers.plan, &survey.profiles, log);
            diagnosis.checks.extend(writers);
        }
        diagnosis
            .checks
            .extend(errors.into_iter().chain(files).chain(judged));
        Ok(diagnosis)
    }

    /// Reads the files of members and of access providers. Adds the errors of each file.
    fn members(&self, target: &Target, errors: &mut Vec<Check>) -> (Members, Vec<PathBuf>) {
        let mut paths = Vec::new();
        let mut resolve = |members, providers, check, flag: &str| {
            let resolved = members::resolve(members, providers, target);
            let (members, read) = resolved.unwrap_or_else(|failure| {
                let remedy = format!("fix the file, or leave out {flag}");
                errors.push(Check::error(check, &failure, &remedy));
                Default::default()
            });
            paths.extend(read);
            members
        };
        let mut members = resolve(&self.plan.members, None, evidence::MEMBERS, "--members");
        let providers = self.plan.provider_file.as_deref();
        members.plugins = resolve(&[], providers, "evidence/plugins", "--provider-file").plugins;
        (members, paths)
    }

    /// Checks the waivers and the reports.
    fn files(&self, target: &Target, inputs: &[PathBuf]) -> Vec<Check> {
        let mut checks = Vec::new();
        if let Err(failure) = waivers::read(self.claim.waivers.as_deref()) {
            let remedy = "fix the file, or leave out --waivers";
            checks.push(Check::error("files/waivers", &failure, remedy));
        }
        let inputs = target.inputs(&self.driver, &self.claim, &self.config, inputs.iter());
        match self.files.prepare(inputs) {
            Ok(prepared) if prepared.0.is_empty() => {}
            Ok(prepared) => {
                let fact = format!("{} can be written", count(prepared.0.len(), "file"));
                checks.push(Check::ok("files/outputs", &fact));
            }
            Err(failure) => {
                let remedy = "name a file in a folder that you may write to";
                checks.push(Check::error("files/outputs", &failure, remedy));
            }
        }
        checks
    }
}

/// The evidence that a run would request: the survey's, and what a run plans later.
fn requested(survey: &Survey, plan: &Plan, driving: Option<&Driving>, reads_own_log: bool) -> Evidence {
    let mut requested = survey.evidence.clone();
    let is_consumer = plan.claim.edition_of(Role::Consumer).is_some();
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
    requested
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

/// The answers of a hub and its members.
struct Answers {
    plan: Plan,
    hub: Value,
    checks: Vec<Check>,
    /// `None` if a run could not begin on the hub.
    survey: Option<Survey>,
    reached: Vec<Reached>,
}

/// How to ask the hub and the members.
struct Asking<'a> {
    driving: Option<&'a Driving>,
    own: Own,
    limit: Duration,
}

impl Asking<'_> {
    /// Asks the hub and the members.
    async fn ask(&self, target: &Target, mut plan: Plan) -> Answers {
        let unanswered = plan.clone();
        let asked = match target {
            Target::Kubeconfig(options) => match connect(options, self.limit).await {
                Ok(hub) => Ok(self.survey(&hub, plan).await),
                Err(failure) => Err(failure),
            },
            Target::Test(hub, reference) => {
                let clock = Clock::system();
                let definitions = reference.hub_definitions(&plan.claim);
                async {
                    let hub = start(*hub, &definitions, Vec::new(), clock).await?;
                    _ = set_up(&hub, reference, &mut plan, self.own, None, clock).await?;
                    plan.testbed = None;
                    let answers = self.survey(&hub.connection, plan).await;
                    hub.stop().await.map_err(Failure::no_hub)?;
                    Ok(answers)
                }
                .await
            }
        };
        match asked {
            Ok(answers) => answers,
            Err(failure) => Answers {
                reached: reach_members(
                    &unanswered.members,
                    &unanswered.scope,
                    Clock::system(),
                    self.limit,
                )
                .await,
                plan: unanswered,
                hub: serde_json::json!({"source": target.name()}),
                checks: vec![Check::error("hub/reached", &failure, hub::OTHER_HUB)],
                survey: None,
            },
        }
    }

    async fn survey(&self, connection: &Connection, plan: Plan) -> Answers {
        let clock = Clock::system();
        let writes = self.driving.is_some_and(Driving::mutations);
        let (surveyed, reached) = futures::join!(
            survey(connection, &plan, writes, clock, self.limit),
            reach_members(&plan.members, &plan.scope, clock, self.limit)
        );
        let hub = hub::describe(connection, surveyed.as_ref().ok());
        let (mut checks, survey) = match surveyed {
            Ok(mut survey) => {
                let inventory: Result<Inventory, CollectError> =
                    std::mem::replace(&mut survey.inventory, Ok(Inventory::default()));
                (hub::checks(connection, &survey, inventory, &plan), Some(survey))
            }
            Err(error) => (hub::failed(connection, error), None),
        };
        if survey.is_some() {
            checks.extend(self.consumer_outputs(connection).await);
        }
        Answers {
            plan,
            hub,
            checks,
            survey,
            reached,
        }
    }

    /// Checks that the run can read the outputs that the driver file declares for its consumer.
    async fn consumer_outputs(&self, hub: &Connection) -> Vec<Check> {
        const CHECK: &str = "evidence/outputs";
        let Some(Driving::File { file, .. }) = self.driving else {
            return Vec::new();
        };
        let mut checks = Vec::new();
        for output in file.consumer.iter().flat_map(|consumer| &consumer.outputs) {
            let reader = output.reader().name();
            let read = timeout(self.limit, output.check(hub)).await;
            checks.push(match read.unwrap_or_else(|_| Err(format!("{reader} did not answer in time"))) {
                Ok(()) => Check::ok(CHECK, &format!("the consumer's outputs can be read: {reader}")),
                Err(reason) => Check::warn(
                    CHECK,
                    &reason,
                    "start the consumer first, and grant what `clusterprofile-conformance rbac --role consumer --driver FILE` prints",
                ),
            });
        }
        checks
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
async fn read_logs(logs: &[PathBuf], limit: Duration) -> Option<Result<AuditLog, RequestsError>> {
    if logs.is_empty() {
        return None;
    }
    let logs = logs.to_vec();
    let reading = spawn_blocking(move || read_audit_log(&logs));
    timeout(limit, reading).await.ok()?.ok()
}
