//! `rbac`: what the runner has to be allowed to do.

use clap::Args;
use collect::{Grants, member_manifest};

use super::{Exit, Failure, print::print};

/// Print the smallest role that the runner needs, for `kubectl apply -f -`
#[derive(Debug, Args)]
pub struct Rbac {
    /// Only in this namespace: a Role for each instead of a ClusterRole (repeatable)
    #[arg(long = "namespace", value_name = "NS")]
    namespaces: Vec<String>,
    /// Without consumers' Secrets: the rules that need them are skipped
    #[arg(long)]
    no_secrets: bool,
    /// Without dry-run writes, which RBAC cannot tell from real ones
    #[arg(long)]
    no_probe: bool,
    /// With what `run --allow-mutations` writes: to profiles of members that it has joined, and one of its own
    #[arg(long)]
    allow_mutations: bool,
    /// Instead, what reading a member takes there (`run --members`)
    #[arg(long, conflicts_with_all = ["namespaces", "no_secrets", "no_probe", "allow_mutations"])]
    members: bool,
}

impl Rbac {
    /// Prints the roles as YAML.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        if self.members {
            return print(&member_manifest()).map(|()| Exit::Success);
        }
        let grants = Grants {
            namespaces: self.namespaces,
            secrets: !self.no_secrets,
            probe: !self.no_probe,
            mutations: self.allow_mutations,
        };
        print(&grants.manifest()).map(|()| Exit::Success)
    }
}
