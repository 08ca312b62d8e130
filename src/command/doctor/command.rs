//! The flags of `doctor`, and its steps.

use std::{path::PathBuf, time::Duration};

use ::evidence::{Asked, Claim, Evidence, Kind, Scope, api::Role};
use clap::{Args, ValueEnum};
use collect::{Members, Plan, Survey};

use super::{
    check::{self, Check},
    document::Diagnosis,
    evidence::{self, EvidenceChecks},
    examine::{Examined, examine, read_logs},
    sources,
};
use crate::command::{
    config::ConfigFlags,
    flags::{
        audit,
        claim::ClaimFlags,
        driver::{DriverFlags, Driving},
        members,
        output::FileFlags,
        plan::PlanFlags,
        scope::ScopeFlags,
        selection::SelectionFlags,
        target::{Target, TargetFlags},
        waivers,
    },
    hub::start::runtime,
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
/// The survey may take so many times as long, and then the members.
const REQUESTS: u32 = 3;

const EXAMPLES: &str = "\
Examples:
  Check the hub and the permissions, with the flags of the run:
    clusterprofile-conformance doctor --context hub
  Check all files of a run, and ask each member:
    clusterprofile-conformance doctor --config conformance.yaml --members members.yaml

Exit codes: 0 a run can begin, 2 bad usage, a file that cannot be used, or nothing on the hub matches --namespace,
--cluster-manager or --scheduler, 4 a run could not begin.";

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
        if let Some(shown) = &self.config.printed {
            return print(shown).map(|()| Exit::Success);
        }
        let format = self.format;
        let diagnosis = self.diagnose()?;
        let exit = check::exit(&diagnosis.checks);
        print(&match format {
            Format::Pretty => diagnosis.page(width()),
            Format::Json => diagnosis.json(),
        })?;
        Ok(exit)
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
            errors.push(Check::error(
                "evidence/driver",
                &failure,
                "fix the file, or leave out --driver",
            ));
            None
        });
        inputs.extend(plan.audit_logs.clone());
        let mut files = self.files(&target, &inputs);
        if let Err(failure) = audit::check(&plan.audit_logs) {
            let remedy = "pass the API server's log, or leave out --audit-log";
            errors.push(Check::error("evidence/audit-log", &failure, remedy));
            plan.audit_logs.clear();
        }

        let own = self.plan.own();
        let logs = plan.audit_logs.clone();
        let runtime = runtime(&target)?;
        let (examined, log) = runtime.block_on(async {
            let examining = examine(&target, plan, driving.as_ref(), own, limit);
            futures::join!(examining, read_logs(&logs, limit))
        });
        // A credential plugin may hang.
        runtime.shutdown_background();

        let Examined {
            plan,
            mut hub,
            mut checks,
            survey,
            reached,
        } = examined;
        if hub.source.is_empty() {
            hub.source = target.name();
        }
        let reads_own_log = own.audit_log && target.reference().is_some();
        let (mut gains, mut rules) = (Vec::new(), None);
        if let Some(survey) = &survey {
            let requested = requested(survey, &plan, driving.as_ref(), reads_own_log);
            let mut of_evidence = EvidenceChecks {
                requested: &requested,
                selection: &selection,
                gains: Vec::new(),
            };
            checks.extend(of_evidence.rows(&plan, driving.as_ref(), &reached, &errors));
            let counts = of_evidence.count_rules();
            files.push(evidence::judged_rules(&counts, &plan));
            (gains, rules) = (of_evidence.gains, Some(counts));
        }
        checks.extend(sources::incomplete_members(&reached));
        if let Some(driving) = &driving {
            let permissions = survey.as_ref().map(|survey| &*survey.evidence.header.permissions);
            checks.extend(sources::driver(driving, permissions.unwrap_or_default()));
        }
        checks.extend(log.iter().flat_map(sources::audit_log));
        if let Some(survey) = &survey {
            let log = log.as_ref().and_then(|log| log.as_ref().ok());
            checks.extend(sources::writers(&plan, &survey.profiles, log));
        }
        checks.extend(errors);
        checks.extend(files);
        Ok(Diagnosis::new(plan.claim.edition, hub, checks, rules, gains))
    }

    /// Reads the files of members and of access providers. Adds errors of each file.
    fn members(&self, target: &Target, errors: &mut Vec<Check>) -> (Members, Vec<PathBuf>) {
        let mut paths = Vec::new();
        let mut resolve =
            |members, providers, check, remedy| match members::resolve(members, providers, target) {
                Ok((found, read)) => {
                    paths.extend(read);
                    found
                }
                Err(failure) => {
                    errors.push(Check::error(check, &failure, remedy));
                    Members::default()
                }
            };
        let remedy = "fix the file, or leave out --members";
        let mut members = resolve(&self.plan.members, None, "evidence/members", remedy);
        let providers = self.plan.provider_file.as_deref();
        let remedy = "fix the file, or leave out --provider-file";
        members.plugins = resolve(&[], providers, "evidence/plugins", remedy).plugins;
        (members, paths)
    }

    /// Checks the waivers and the reports.
    fn files(&self, target: &Target, inputs: &[PathBuf]) -> Vec<Check> {
        let mut checks = Vec::new();
        if let Err(failure) = waivers::read(self.claim.waivers.as_deref()) {
            checks.push(Check::error(
                "files/waivers",
                &failure,
                "fix the file, or leave out --waivers",
            ));
        }
        let inputs = target.inputs(&self.driver, &self.claim, &self.config, inputs.iter());
        match self.files.prepare(inputs) {
            Ok(prepared) if prepared.0.is_empty() => {}
            Ok(prepared) => {
                let fact = format!("{} can be written", report::count(prepared.0.len(), "file"));
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

/// What a run would request: the survey's, and what a run plans later.
fn requested(survey: &Survey, plan: &Plan, driving: Option<&Driving>, reads_own_log: bool) -> Evidence {
    let mut requested = survey.evidence.clone();
    let is_consumer = plan.claim.edition_of(Role::Consumer).is_some();
    // The reference consumer needs no driver file.
    let planned: &[Kind] = match (is_consumer, driving) {
        (true, Some(_)) => &TESTBED_KINDS,
        (true, None) if reads_own_log => &TESTBED_KINDS,
        (false, Some(_)) => &[Kind::Driver],
        (_, None) => &[],
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
