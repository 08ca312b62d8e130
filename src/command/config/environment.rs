//! Environment variables: each flag that has a key in the configuration file can be set by one.

use clap::{Arg, Command};

use super::keys::is_for_one_call;

/// The variable of `--clusterset` is `CLUSTERPROFILE_CONFORMANCE_CLUSTERSET`.
pub const PREFIX: &str = "CLUSTERPROFILE_CONFORMANCE_";
/// The subcommands whose flags have variables.
pub const CONFIGURABLE: [&str; 3] = ["run", "replay", "doctor"];

/// Lets the flags of `run`, `replay`, and `doctor` be set by the environment. The command line wins.
pub fn with_environment(command: Command) -> Command {
    CONFIGURABLE.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| subcommand.mut_args(variable))
    })
}

fn variable(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    match arg.get_long() {
        Some(long) if id == "config" || !is_for_one_call(id) => {
            let name = format!("{PREFIX}{}", long.replace('-', "_").to_uppercase());
            arg.env(name).hide_env(true)
        }
        _ => arg,
    }
}
