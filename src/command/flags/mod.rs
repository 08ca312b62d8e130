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
    /// Plans a run. `refuse` gets each flag whose file cannot be used, with the reason: if it accepts that, the plan is
    /// made without the file.
    pub fn resolve(
        &self,
        refuse: &mut dyn FnMut(&'static str, Failure) -> Result<(), Failure>,
    ) -> Result<RunPlan, Failure> {
        let (mut claim, mut scope) = (Claim::default(), Scope::default());
        self.claim.apply(&mut claim)?;
        self.scope.apply(&mut scope);
        let selection = self.selection.clone().resolve(&claim)?;
        let target = self.target.clone().resolve(&claim)?;
        target.claim(&mut claim);
        target.scope(&claim, &mut scope);

        let waivers = input::read_waivers(self.claim.waivers.as_deref());
        let waivers = usable("--waivers", waivers, refuse)?;
        let providers = self.plan.provider_file.as_deref();
        members::check(&self.plan.members, providers, &target)?;
        let members = members::from_files(&self.plan.members);
        let (mut members, mut inputs) = usable("--members", members, refuse)?;
        if let Some(path) = providers {
            let plugins = read_providers(path).map(Some).map_err(Failure::usage);
            members.plugins = usable("--provider-file", plugins, refuse)?;
        }
        let mut plan = self.plan.plan(claim, scope, &target, members)?;
        // Its hooks may bring about what the scope names.
        plan.wait |= self.driver.file().is_some();
        inputs.extend(plan.audit_logs.clone());
        let readable = input::check_audit_logs(&plan.audit_logs).map(|()| plan.audit_logs);
        plan.audit_logs = usable("--audit-log", readable, refuse)?;
        let driving = self.driver.resolve(&target, &plan);
        let driving = usable("--driver", driving, refuse)?;

        let named = [
            target.kubeconfig(),
            self.driver.file(),
            providers,
            self.claim.waivers.as_deref(),
            self.config.file(),
        ];
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

/// The content of a flag's file; nothing if the file cannot be used and `refuse` accepts that.
fn usable<T: Default>(
    flag: &'static str,
    content: Result<T, Failure>,
    refuse: &mut dyn FnMut(&'static str, Failure) -> Result<(), Failure>,
) -> Result<T, Failure> {
    content.or_else(|failure| refuse(flag, failure).map(|()| T::default()))
}
