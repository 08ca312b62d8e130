//! The flags that several subcommands share, and what they lead to.

pub mod claim;
pub mod driver;
pub mod files;
pub mod members;
pub mod plan;
pub mod selection;
pub mod target;

use std::path::{Path, PathBuf};

use clap::Args;
use collect::{Plan, plugins::read_providers};
use evidence::{Claim, Scope};
use judge::{Selection, Waivers};

use self::{
    claim::ClaimFlags,
    driver::{DriverFlags, Driving},
    plan::PlanFlags,
    selection::SelectionFlags,
    target::{ScopeFlags, Target, TargetFlags},
};
use super::{Failure, config::ConfigFlags};

/// The flags of each command that judges a hub or a file.
#[derive(Debug, Args)]
pub struct JudgeFlags {
    #[command(flatten)]
    pub selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    #[command(flatten)]
    pub scope: ScopeFlags,
    #[command(flatten)]
    pub claim: ClaimFlags,
}

/// The flags of a run on a hub.
#[derive(Debug, Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub target: TargetFlags,
    #[command(flatten)]
    pub judge: JudgeFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
    #[command(flatten)]
    pub driver: DriverFlags,
}

/// What the flags of a run lead to before it connects to the hub.
pub struct RunPlan {
    pub selection: Selection,
    pub target: Target,
    pub plan: Plan,
    /// Whether the members of a test hub are queried.
    pub own_members: bool,
    /// Whether the audit log of a test hub is read.
    pub own_audit_log: bool,
    pub driving: Option<Driving>,
    pub waivers: Option<Waivers>,
    /// The flags whose files cannot be used, with the reasons: the plan is made without them.
    pub unusable: Vec<(&'static str, Failure)>,
    /// The files that the run reads: no report may replace one.
    pub inputs: Vec<PathBuf>,
}

impl RunFlags {
    /// Plans a run that has all the files that it needs.
    pub fn resolve(&self) -> Result<RunPlan, Failure> {
        let mut run = self.plan()?;
        if run.unusable.is_empty() {
            Ok(run)
        } else {
            Err(run.unusable.remove(0).1)
        }
    }

    /// Plans a run, and reads the files that it needs.
    pub fn plan(&self) -> Result<RunPlan, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        let judge = &self.judge;
        judge.claim.apply(&mut claim)?;
        judge.scope.apply(&mut scope);
        let selection = judge.selection.clone().resolve(&claim)?;
        let target = self.target.clone().resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);

        let mut unusable = Vec::new();
        let waivers = files::read_waivers(judge.claim.waivers.as_deref());
        let waivers = usable("--waivers", waivers, &mut unusable);
        let providers = self.plan.provider_file.as_deref();
        members::check(&self.plan.members, providers, &target)?;
        let members = members::from_files(&self.plan.members);
        let (mut members, mut inputs) = usable("--members", members, &mut unusable);
        if let Some(path) = providers {
            let plugins = read_providers(path).map(Some).map_err(Failure::usage);
            members.plugins = usable("--provider-file", plugins, &mut unusable);
        }
        let mut plan = self.plan.plan(claim, scope, &target, members)?;
        inputs.extend(plan.audit_logs.clone());
        let logs = files::check_audit_logs(&plan.audit_logs).map(|()| plan.audit_logs);
        plan.audit_logs = usable("--audit-log", logs, &mut unusable);
        // Its hooks may bring about what the scope names.
        plan.wait |= self.driver.file().is_some();
        let driving = usable("--driver", self.driver.resolve(&target, &plan), &mut unusable);

        let paths = [
            target.kubeconfig(),
            self.driver.file(),
            providers,
            judge.claim.waivers.as_deref(),
            judge.config.file(),
        ];
        inputs.extend(paths.into_iter().flatten().map(Path::to_owned));
        Ok(RunPlan {
            selection,
            target,
            plan,
            own_members: self.plan.members.is_empty(),
            own_audit_log: self.plan.audit_logs.is_empty(),
            driving,
            waivers,
            unusable,
            inputs,
        })
    }
}

/// The content of a flag's file. If the file cannot be used, nothing, and the flag is listed.
fn usable<T: Default>(
    flag: &'static str,
    content: Result<T, Failure>,
    unusable: &mut Vec<(&'static str, Failure)>,
) -> T {
    content.unwrap_or_else(|failure| {
        unusable.push((flag, failure));
        T::default()
    })
}
