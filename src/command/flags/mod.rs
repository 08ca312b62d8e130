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
use collect::Plan;
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
    /// The files that the run reads: no report may replace one.
    pub inputs: Vec<PathBuf>,
}

impl RunFlags {
    /// Plans a run, and reads the files that it needs.
    pub fn resolve(&self) -> Result<RunPlan, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        let judge = &self.judge;
        judge.claim.apply(&mut claim)?;
        judge.scope.apply(&mut scope);
        let selection = judge.selection.clone().resolve(&claim)?;
        let target = self.target.clone().resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);

        let waivers = files::read_waivers(judge.claim.waivers.as_deref())?;
        let providers = self.plan.provider_file.as_deref();
        let (members, mut inputs) = members::from_files(&self.plan.members, providers, &target)?;
        let mut plan = self.plan.plan(claim, scope, &target, members)?;
        // Its hooks may bring about what the scope names.
        plan.wait |= self.driver.file().is_some();
        let driving = self.driver.resolve(&target, &plan)?;

        let named = [
            target.kubeconfig(),
            self.driver.file(),
            judge.claim.waivers.as_deref(),
            judge.config.file(),
        ];
        inputs.extend(plan.audit_logs.clone());
        inputs.extend(named.into_iter().flatten().map(Path::to_owned));
        Ok(RunPlan {
            selection,
            target,
            plan,
            own_members: self.plan.members.is_empty(),
            own_audit_log: self.plan.audit_logs.is_empty(),
            driving,
            waivers,
            inputs,
        })
    }
}
