//! `version`: which suite this is.

use clap::Args;

use crate::command::terminal::{
    exit::{Exit, Failure},
    print::print,
};

/// Print the version
#[derive(Debug, Args)]
pub struct PrintVersion {}

impl PrintVersion {
    /// Prints it, as `--version` does.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let line = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\n");
        print(line).map(|()| Exit::Success)
    }
}
