//! The command-line face of the suite.

mod command;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    match command::merged(&env::args_os().collect::<Vec<_>>()).and_then(command::Cli::execute) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            (&failure).into()
        }
    }
}
