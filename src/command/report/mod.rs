//! `report`: verify, compare and publish reports to submit.

mod diff;
mod folder;
mod site;
mod verify;

use clap::{Args, Subcommand};

use crate::command::terminal::exit::{Exit, Failure};

/// Verify, compare and publish reports that were written with `run --report`
#[derive(Debug, Args)]
pub struct Report {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(verify::Verify),
    Diff(diff::Diff),
    Site(site::Site),
}

impl Report {
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Verify(verify) => verify.execute(),
            Command::Diff(diff) => diff.execute(),
            Command::Site(site) => site.execute(),
        }
    }
}
