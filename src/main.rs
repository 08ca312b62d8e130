//! The command-line face of the suite.

mod command;

use std::{env, process::ExitCode};

use command::{Exit, Failure};

fn main() -> ExitCode {
    match execute() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            (&failure).into()
        }
    }
}

fn execute() -> Result<Exit, Failure> {
    let arguments: Vec<_> = env::args_os().collect();
    command::parse(&arguments)?.execute()
}
