//! The flags, and what is checked of them before a hub is asked.

use std::time::Duration;

use clap::{Args, ValueEnum};
use collect::Members;
use evidence::{Claim, Scope};

use super::{
    audit_log,
    check::{self, Check},
    conclude::conclude,
    document::Diagnosis,
    examine::{Examined, examine},
};
use crate::command::{
    flags::{
        audit,
        claim::ClaimFlags,
        config::ConfigFlags,
        driver::DriverFlags,
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

/// How long a request to the hub may take, unless the user says otherwise.
const REQUEST: Duration = Duration::from_secs(10);
/// How many times as long the hub may take in all, and then the members.
const REQUESTS: u32 = 3;

const EXAMPLES: &str = "\
Examples:
  Check the hub and the permissions, with the flags of the run:
    clusterprofile-conformance doctor --context hub
  Check all files of a run, and ask each member:
    clusterprofile-conformance doctor --config conformance.yaml --members members.yaml

Exit codes: 0 a run can begin, 2 bad usage, a file that cannot be used, or nothing on the hub matches --namespace,
--cluster-manager or --scheduler, 4 a run could not begin.";

/// Check in seconds what stands in the way of a run with the same flags
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
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
    /// How to print what was found
    // Another id than that of `run`, whose formats are others.
    #[arg(
        id = "diagnosis",
        long = "format",
        value_enum,
        default_value_t,
        help_heading = "Output"
    )]
    format: Format,
}

/// How to print what was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Pretty,
    /// One JSON object: `schema diagnosis` prints its schema
    Json,
}

impl Doctor {
    /// Checks everything and prints what was found.
    ///
    /// # Errors
    /// When the flags contradict each other, or standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        if let Some(shown) = &self.config.shown {
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
        let edition = claim.edition;
        let selection = self.selection.resolve(&claim)?;
        let mut target = self.target.resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);
        let limit = be_quick(&mut target);

        // What is wrong with files, which `run` would end with: here all of it is told.
        let mut flaws = Vec::new();
        if let Err(failure) = waivers::read(self.claim.waivers.as_deref()) {
            flaws.push(Check::error("files/waivers", &failure));
        }
        let given = [
            (&*self.plan.members, None),
            (&[][..], self.plan.provider_file.as_deref()),
        ];
        let (mut asked, mut read) = (Members::default(), Vec::new());
        for ((members, providers), check) in given.into_iter().zip(["evidence/members", "evidence/plugins"]) {
            match members::resolve(members, providers, &target) {
                Ok((found, files)) => {
                    asked.ways.extend(found.ways);
                    asked.from_secrets |= found.from_secrets;
                    asked.plugins = asked.plugins.or(found.plugins);
                    read.extend(files);
                }
                Err(failure) => flaws.push(Check::error(check, &failure)),
            }
        }
        let mut plan = self.plan.plan(claim, scope, &target, asked)?;
        plan.wait |= self.driver.file().is_some();
        let driving = self.driver.resolve(&target, &plan).unwrap_or_else(|failure| {
            flaws.push(Check::error("evidence/driver", &failure));
            None
        });
        let unread = audit::check(&plan.audit_logs).err();
        let has_log = unread.is_none();
        flaws.extend(unread.map(|failure| Check::error("evidence/audit-log", &failure)));
        let files = read.iter().chain(&plan.audit_logs);
        let inputs = target.inputs(&self.driver, &self.claim, &self.config, files);
        let outputs = match self.files.prepare(inputs) {
            Ok(prepared) if prepared.0.is_empty() => None,
            Ok(prepared) => {
                let fact = format!("{} can be written", report::count(prepared.0.len(), "file"));
                Some(Check::ok("files/outputs", &fact))
            }
            Err(failure) => Some(Check::error("files/outputs", &failure)),
        };
        flaws.extend(outputs);

        let logs = if has_log {
            plan.audit_logs.clone()
        } else {
            Vec::new()
        };
        let source = target.name();
        let own = self.plan.own();
        let runtime = runtime(&target)?;
        let examined = runtime.block_on(async {
            let seen = examine(&target, plan, driving.as_ref(), own, limit);
            futures::join!(seen, audit_log::sample(&logs))
        });
        // A credential plugin may hang.
        runtime.shutdown_background();
        let (examined, sample) = examined;
        let examined = Examined { sample, ..examined };
        Ok(conclude(
            examined,
            edition,
            source,
            &selection,
            driving.as_ref(),
            flaws,
        ))
    }
}

/// Limits the requests to the user's hub, and returns how long it may take in all.
fn be_quick(target: &mut Target) -> Duration {
    let limit = match target {
        Target::Kubeconfig(options) => *options.request_timeout.get_or_insert(REQUEST),
        Target::Lab(_) | Target::Envtest(_) | Target::K3s(_) => REQUEST,
    };
    if limit.is_zero() {
        Duration::MAX
    } else {
        limit.saturating_mul(REQUESTS)
    }
}
