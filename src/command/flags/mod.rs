//! The flags that several subcommands share, and what they lead to.

pub mod claim;
pub mod driver;
pub mod input;
pub mod members;
pub mod output;
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
use super::{config::ConfigFlags, terminal::exit::Failure};

/// The flags of a run on a hub.
#[derive(Debug, Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    #[command(flatten)]
    pub target: TargetFlags,
    #[command(flatten)]
    pub scope: ScopeFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
    #[command(flatten)]
    pub driver: DriverFlags,
    #[command(flatten)]
    pub claim: ClaimFlags,
}

/// What the flags of a run lead to before it connects to the hub.
pub struct RunPlan {
    pub selection: Selection,
    pub target: Target,
    pub plan: Plan,
    pub driving: Option<Driving>,
    pub waivers: Option<Waivers>,
    /// The files that the run reads: no report may replace one.
    pub inputs: Vec<PathBuf>,
}

impl RunFlags {
    /// Plans a run, and reads the files that it needs.
    pub fn resolve(&self) -> Result<RunPlan, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        self.claim.apply(&mut claim)?;
        self.scope.apply(&mut scope);
        let selection = self.selection.clone().resolve(&claim)?;
        let target = self.target.clone().resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);

        let waivers = input::read_waivers(self.claim.waivers.as_deref())?;
        let providers = self.plan.provider_file.as_deref();
        members::check(&self.plan.members, providers, &target)?;
        let (mut members, mut inputs) = members::from_files(&self.plan.members)?;
        if let Some(path) = providers {
            members.plugins = Some(read_providers(path).map_err(Failure::usage)?);
        }
        let mut plan = self.plan.plan(claim, scope, &target, members)?;
        // Its hooks may bring about what the scope names.
        plan.wait |= self.driver.file().is_some();
        input::check_audit_logs(&plan.audit_logs)?;
        let driving = self.driver.resolve(&target, &plan)?;

        let named = [
            target.kubeconfig(),
            self.driver.file(),
            providers,
            self.claim.waivers.as_deref(),
            self.config.file(),
        ];
        inputs.extend(plan.audit_logs.clone());
        inputs.extend(named.into_iter().flatten().map(Path::to_owned));
        Ok(RunPlan {
            selection,
            target,
            plan,
            driving,
            waivers,
            inputs,
        })
    }
}
