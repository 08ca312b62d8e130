//! The command line: one file per subcommand, and one per group of flags that several of them share.

mod advice;
mod audit;
mod claim;
mod clean;
mod completions;
mod conclude;
mod config;
mod crd;
mod driver;
mod exit;
mod explain;
mod hub;
mod list;
mod members;
mod observe;
mod output;
mod plan;
mod print;
mod progress;
mod rbac;
mod replay;
mod report;
mod rule;
mod run;
mod schema;
mod scope;
mod selection;
mod signals;
mod target;
mod waivers;

use clap::{Parser, Subcommand};
pub use exit::{Exit, Failure};

/// Judges whether a cluster manager keeps the rules of the ClusterProfile API (KEP-4322) on a hub.
#[derive(Debug, Parser)]
#[command(
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 conformant, 1 not conformant, 2 bad usage or configuration, 3 inconclusive, \
                  4 could not run."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Replay(Box<replay::Replay>),
    Report(report::Report),
    List(list::List),
    Explain(explain::Explain),
    Crd(crd::Crd),
    Rbac(rbac::Rbac),
    Hub(hub::ServeHub),
    Schema(schema::PrintSchema),
    Completions(completions::Completions),
}

impl Cli {
    /// Reads the command line of this process, and the configuration file that it names.
    ///
    /// # Errors
    /// When the file cannot be used. Of what is wrong with the command line itself, clap tells, and ends the process.
    pub fn read() -> Result<Self, Failure> {
        config::merged(&std::env::args_os().collect::<Vec<_>>())
    }

    /// What a configuration file can fill in, and no flag.
    fn configured(&mut self) -> Option<(&mut config::ConfigFlags, &mut claim::ClaimFlags)> {
        match &mut self.command {
            Command::Run(run) => Some((&mut run.config, &mut run.claim)),
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
            Command::Replay(replay) => replay.execute(),
            Command::Report(report) => report.execute(),
            Command::List(list) => list.execute(),
            Command::Explain(explain) => explain.execute(),
            Command::Crd(crd) => crd.execute(),
            Command::Rbac(rbac) => rbac.execute(),
            Command::Hub(hub) => hub.execute(),
            Command::Schema(schema) => schema.execute(),
            Command::Completions(completions) => completions.execute(),
        }
    }
}
