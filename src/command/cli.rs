//! The command line as a whole.

mod completions;
mod help;
mod man;
pub mod merge;
mod version;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::command::{
    consumer_plugin, doctor,
    flags::{claim, config::ConfigFlags},
    hub::serve as hub,
    manifests::{crd, rbac, schema},
    report,
    rules::{explain, list},
    run::{command as run, replay},
    terminal::{
        color,
        exit::{Exit, Failure},
    },
};

/// Checks whether a cluster manager follows the rules of the ClusterProfile API (KEP-4322) on a hub.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 conformant, 1 not conformant, 2 bad usage or configuration, 3 inconclusive, \
                  4 could not run."
)]
pub struct Cli {
    #[command(flatten)]
    color: color::ColorFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Doctor(Box<doctor::Doctor>),
    Replay(Box<replay::Replay>),
    Report(report::Report),
    List(list::List),
    Explain(explain::Explain),
    Crd(crd::Crd),
    Rbac(rbac::Rbac),
    Hub(hub::ServeHub),
    Schema(schema::PrintSchema),
    Plugin(consumer_plugin::ConsumerPlugin),
    Completions(completions::Completions),
    #[command(name = "man")]
    ManPages(man::ManPages),
    Version(version::PrintVersion),
}

impl Cli {
    /// Returns what a configuration file can fill in, and no flag.
    pub(super) fn configured(&mut self) -> Option<(&mut ConfigFlags, &mut claim::ClaimFlags)> {
        match &mut self.command {
            Command::Run(run) => Some((&mut run.config, &mut run.claim)),
            Command::Doctor(doctor) => Some((&mut doctor.config, &mut doctor.claim)),
            Command::Replay(replay) => Some((&mut replay.config, &mut replay.claim)),
            _ => None,
        }
    }

    /// Carries out the command.
    ///
    /// # Errors
    /// When it could not be carried out; the failure knows its exit code.
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Run(run) => run.execute(),
            Command::Doctor(doctor) => doctor.execute(),
            Command::Replay(replay) => replay.execute(),
            Command::Report(report) => report.execute(),
            Command::List(list) => list.execute(),
            Command::Explain(explain) => explain.execute(),
            Command::Crd(crd) => crd.execute(),
            Command::Rbac(rbac) => rbac.execute(),
            Command::Hub(hub) => hub.execute(),
            Command::Schema(schema) => schema.execute(),
            Command::Plugin(plugin) => plugin.execute(),
            Command::Completions(completions) => completions.execute(Self::command()),
            Command::ManPages(pages) => pages.execute(Self::command()),
            Command::Version(version) => version.execute(),
        }
    }
}
