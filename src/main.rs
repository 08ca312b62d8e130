//! The command-line face of the suite.

mod command;

use std::{env, ffi::OsString, process::ExitCode};

use command::{Exit, Failure};

fn main() -> ExitCode {
    match execute(&env::args_os().collect::<Vec<_>>()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            (&failure).into()
        }
    }
}

/// Carries out a command line.
fn execute(line: &[OsString]) -> Result<Exit, Failure> {
    command::merged(line)?.execute(execute)
}
