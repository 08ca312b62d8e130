//! The flags that say which profiles count.

use clap::Args;
use evidence::{Scope, api::syntax::is_dns_label};

/// Which profiles to judge.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Scope")]
pub struct ScopeFlags {
    /// Judge only the profiles of this namespace (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS", value_parser = namespace)]
    pub namespaces: Vec<String>,
    /// Judge only the profiles of this cluster manager
    #[arg(long, value_name = "NAME", value_parser = manager)]
    pub cluster_manager: Option<String>,
    /// Judge only the placement decisions of this scheduler
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
}

/// Why nothing on a hub can have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The API server takes no such namespace.
    #[error("a namespace has at most 63 small letters, digits and -, with a letter or digit at both ends")]
    Namespace,
    /// A cluster manager without a name cannot be distinguished from a missing one.
    #[error("a cluster manager's name is not empty")]
    NoManager,
    /// It would write lines of its own wherever it is shown.
    #[error("a cluster manager's name has no line breaks or other control characters")]
    Manager,
}

/// Reads the name of a namespace.
pub fn namespace(given: &str) -> Result<String, NameError> {
    is_dns_label(given)
        .then(|| given.to_owned())
        .ok_or(NameError::Namespace)
}

/// Reads the name of a cluster manager. Older editions take nearly any.
pub fn manager(given: &str) -> Result<String, NameError> {
    if given.trim().is_empty() {
        return Err(NameError::NoManager);
    }
    if given
        .chars()
        .any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}'))
    {
        return Err(NameError::Manager);
    }
    Ok(given.to_owned())
}

impl ScopeFlags {
    /// Overrides a scope with what the flags say.
    pub fn apply(&self, scope: &mut Scope) {
        if !self.namespaces.is_empty() {
            scope.namespaces.clone_from(&self.namespaces);
        }
        if self.cluster_manager.is_some() {
            scope.cluster_manager.clone_from(&self.cluster_manager);
            scope.manager_by_default = false;
        }
        if self.scheduler.is_some() {
            scope.scheduler.clone_from(&self.scheduler);
        }
    }
}
