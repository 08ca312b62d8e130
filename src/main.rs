//! The command-line face of the suite.

mod command;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match command::Cli::parse().execute() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            (&failure).into()
        }
    }
}
