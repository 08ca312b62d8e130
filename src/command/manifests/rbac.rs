//! `rbac`: the permissions that a run needs.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use collect::{Grants, ServiceAccount, driver::DriverFile, member_manifest};
use evidence::api::Role;

use crate::command::{
    flags::{claim::role_parser, target::namespace},
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Print the minimal RBAC role for a run, for `kubectl apply -f -`
#[derive(Debug, Args)]
pub struct Rbac {
    /// Grant access to this namespace only, by a Role instead of a ClusterRole (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS", value_parser = namespace)]
    namespaces: Vec<String>,
    /// Who is judged: manager, scheduler, or both, with a comma between them, or consumer
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',', default_value = "manager", value_parser = role_parser(Role::ALL))]
    roles: Vec<Role>,
    /// Grant what a run with this driver file needs besides: a namespace of its own with --allow-mutations; for a consumer,
    /// its decisions, and reading what it makes
    #[arg(long, value_name = "FILE")]
    driver: Option<PathBuf>,
    /// Grant no access to consumer Secrets: the rules that need them are skipped
    #[arg(long)]
    no_secrets: bool,
    /// Grant no dry-run writes, which RBAC cannot distinguish from real writes
    #[arg(long)]
    no_probe: bool,
    /// Grant the writes of `run --allow-mutations`: to profiles of members that it joined and to one of its own; with
    /// `--role scheduler`, to slices instead
    #[arg(long)]
    allow_mutations: bool,
    /// Print the role for reading a member instead (`run --members`)
    #[arg(long, conflicts_with_all = ["namespaces", "roles", "driver", "no_secrets", "no_probe", "allow_mutations"])]
    members: bool,
    /// Print also this ServiceAccount, and the binding of the role to it. The names of role and binding have those of the
    /// account, so that accounts share nothing. To take it all away, pipe the same into `kubectl delete -f -`
    #[arg(long, value_name = "NAMESPACE:NAME")]
    bind: Option<ServiceAccount>,
}

impl Rbac {
    /// Prints the roles as YAML, with what binds them.
    ///
    /// # Errors
    /// When the flags contradict each other, or standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let judges = |role| self.roles.contains(&role);
        let file = self.driver_file()?;
        let consumer = file.consumer.unwrap_or_default();
        let reads_placements = consumer.claims().reads_placements();
        // Without its own profiles, a run shows a consumer nothing.
        let written = Role::ALL
            .into_iter()
            .filter(|role| judges(*role) && (self.allow_mutations || *role == Role::Consumer))
            .chain(reads_placements.then_some(Role::Scheduler));
        let grants = Grants {
            namespaces: self.namespaces,
            placements: judges(Role::Scheduler) || reads_placements,
            // No rule on placements needs Secrets or dry runs.
            secrets: !self.no_secrets && judges(Role::Manager),
            probe: !self.no_probe && judges(Role::Manager),
            mutations: written.collect(),
            own_namespace: self.allow_mutations && file.own_namespace.is_some(),
            outputs: consumer.outputs,
        };
        let account = self.bind.as_ref();
        let manifest = if self.members {
            member_manifest(account)
        } else {
            grants.manifest(account)
        };
        print(&manifest).map(|()| Exit::Success)
    }

    /// The driver file, which may ask for more; an empty one without the flag.
    fn driver_file(&self) -> Result<DriverFile, Failure> {
        let Some(path) = &self.driver else {
            return Ok(DriverFile::default());
        };
        let mut file = DriverFile::read(path).map_err(Failure::usage)?;
        if !self.roles.contains(&Role::Consumer) && file.own_namespace.is_none() {
            return Err(Failure::usage(anyhow!(
                "--driver is for a consumer, or for a file with `ownNamespace`: add --role consumer"
            )));
        }
        if !self.roles.contains(&Role::Consumer) {
            file.consumer = None;
        }
        Ok(file)
    }
}
