//! The flags that say which profiles count.

use clap::Args;
use evidence::Scope;

/// Which profiles to judge.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Scope")]
pub struct ScopeFlags {
    /// Judge only the profiles of this namespace (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS")]
    pub namespaces: Vec<String>,
    /// Judge only the profiles of this cluster manager
    #[arg(long, value_name = "NAME")]
    pub cluster_manager: Option<String>,
    /// Judge only the placement decisions of this scheduler
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
}

impl ScopeFlags {
    /// Overrides a scope with what the flags say.
    pub fn apply(&self, scope: &mut Scope) {
        if !self.namespaces.is_empty() {
            scope.namespaces.clone_from(&self.namespaces);
        }
        if self.cluster_manager.is_some() {
            scope.cluster_manager.clone_from(&self.cluster_manager);
        }
        if self.scheduler.is_some() {
            scope.scheduler.clone_from(&self.scheduler);
        }
    }
}
