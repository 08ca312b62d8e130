//! The command line: one file per subcommand, and one per group of flags that several of them share.

mod audit;
mod claim;
mod clean;
mod completions;
mod conclude;
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
mod reference;
mod replay;
mod rule;
mod run;
mod scope;
mod selection;
mod signals;
mod stand_ins;
mod target;

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
    List(list::List),
    Explain(explain::Explain),
    Crd(crd::Crd),
    Rbac(rbac::Rbac),
    Hub(hub::ServeHub),
    Completions(completions::Completions),
}

impl Cli {
    /// Carries out the command.
    ///
    /// # Errors
    /// When it could not be carried out; the failure knows its exit code.
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Run(run) => run.execute(),
            Command::Replay(replay) => replay.execute(),
            Command::List(list) => list.execute(),
            Command::Explain(explain) => explain.execute(),
            Command::Crd(crd) => crd.execute(),
            Command::Rbac(rbac) => rbac.execute(),
            Command::Hub(hub) => hub.execute(),
            Command::Completions(completions) => completions.execute(),
        }
    }
}
