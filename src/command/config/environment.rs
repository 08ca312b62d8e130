//! Environment variables: each flag that has a key in the configuration file can be set by one.

use std::env;

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};

use super::keys::is_for_one_call;

/// The variable of `--clusterset` is `CLUSTERPROFILE_CONFORMANCE_CLUSTERSET`.
const PREFIX: &str = "CLUSTERPROFILE_CONFORMANCE_";
/// The subcommands whose flags have variables.
pub const CONFIGURABLE: [&str; 3] = ["run", "replay", "doctor"];

/// Lets the environment set the flags of a subcommand, except those that conflict with a flag of the command line.
pub fn with_environment(command: Command, name: &str, flags: &ArgMatches) -> Command {
    let Some(subcommand) = command.find_subcommand(name).cloned() else {
        return command;
    };
    let gives_way = |arg: &Arg| {
        subcommand.get_arguments().any(|flag| {
            flags.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
                && conflict(&subcommand, arg, flag)
        })
    };
    command.mut_subcommand(name, |subcommand| {
        subcommand.mut_args(|arg| if gives_way(&arg) { arg } else { variable(arg) })
    })
}

/// Whether one of two arguments declares a conflict with the other.
pub fn conflict(command: &Command, one: &Arg, other: &Arg) -> bool {
    let excludes = |one: &Arg, other: &Arg| {
        let excluded = command.get_arg_conflicts_with(one);
        excluded.iter().any(|arg| arg.get_id() == other.get_id())
    };
    excludes(one, other) || excludes(other, one)
}

fn variable(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    let Some(long) = arg.get_long() else { return arg };
    // The formats of `doctor` are not those of `run`.
    if id != "config" && (is_for_one_call(id) || id == "diagnosis") {
        return arg;
    }
    let name = format!("{PREFIX}{}", long.replace('-', "_").to_uppercase());
    let is_off = env::var(&name).is_ok_and(|value| value == "false");
    if is_off && matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg;
    }
    arg.env(name).hide_env(true)
}
