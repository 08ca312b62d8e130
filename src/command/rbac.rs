//! `rbac`: the permissions that a run needs.

use clap::Args;
use collect::{Grants, member_manifest};

use super::{Exit, Failure, print::print};

/// Print the minimal RBAC role for a run, for `kubectl apply -f -`
#[derive(Debug, Args)]
pub struct Rbac {
    /// Grant access to this namespace only, by a Role instead of a ClusterRole (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS")]
    namespaces: Vec<String>,
    /// Grant no access to consumer Secrets: the rules that need them are skipped
    #[arg(long)]
    no_secrets: bool,
    /// Grant no dry-run writes, which RBAC cannot distinguish from real writes
    #[arg(long)]
    no_probe: bool,
    /// Grant the writes of `run --allow-mutations`: to profiles of members that it joined, and to one of its own
    #[arg(long)]
    allow_mutations: bool,
    /// Print the role for reading a member instead (`run --members`)
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
