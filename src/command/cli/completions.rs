//! `completions`: for shells.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::command::terminal::{
    exit::{Exit, Failure},
    print::print,
};

/// Print a script that completes this command in a shell
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script for the whole command line.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self, mut whole: Command) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut whole, env!("CARGO_PKG_NAME"), &mut script);
        print(&String::from_utf8_lossy(&script)).map(|()| Exit::Success)
    }
}
