//! `completions`: for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Exit, Failure, print::print};

/// Print a script that completes this command in a shell
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut Cli::command(),
            env!("CARGO_PKG_NAME"),
            &mut script,
        );
        print(&String::from_utf8_lossy(&script)).map(|()| Exit::Success)
    }
}
