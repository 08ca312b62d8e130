//! The command-line face of the suite.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    match command::Cli::read().and_then(command::Cli::execute) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            (&failure).into()
        }
    }
}
