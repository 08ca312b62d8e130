//! How the user called the command: by its name, or as a plugin of kubectl.

use std::{env, ffi::OsStr, path::Path, sync::LazyLock};

use clap::{Command, CommandFactory as _};
use report::COMMAND;

use crate::command::cli::Cli;

/// kubectl runs `kubectl x-y` as a program of this prefix, `kubectl-x_y`.
const PLUGIN: &str = "kubectl-";

/// Returns the command as the user types it, so that examples and advice can be copied.
pub fn called() -> &'static str {
    static CALLED: LazyLock<String> = LazyLock::new(|| typed(env::args_os().next().as_deref()));
    &CALLED
}

/// The command line, whose usage and examples say what the user types.
pub fn command_line() -> Command {
    worded(Cli::command(), called())
}

fn worded(command: Command, called: &str) -> Command {
    if called == COMMAND {
        return command;
    }
    examples(command.bin_name(called), called)
}

/// Puts what the user types into the text after the help of a command and of its subcommands.
fn examples(command: Command, called: &str) -> Command {
    let after = command
        .get_after_help()
        .map(|text| in_words_of(called, &text.to_string()));
    let command = match after {
        Some(after) => command.after_help(after),
        None => command,
    };
    command.mut_subcommands(|subcommand| examples(subcommand, called))
}

/// Replaces the binary's name in a text by what the user types.
fn in_words_of(called: &str, text: &str) -> String {
    text.replace(&format!("{COMMAND} "), &format!("{called} "))
}

/// What the user types to run a program of this name.
fn typed(program: Option<&OsStr>) -> String {
    let stem = program
        .map(Path::new)
        .and_then(Path::file_stem)
        .and_then(OsStr::to_str);
    match stem.and_then(|stem| stem.strip_prefix(PLUGIN)) {
        // Dashes separate kubectl's subcommands, so a dash in a plugin's name is an underscore in its file's.
        Some(plugin) => format!("kubectl {}", plugin.replace('-', " ").replace('_', "-")),
        None => COMMAND.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_typed_after_kubectl() {
        for (program, expected) in [
            ("clusterprofile-conformance", COMMAND),
            ("/usr/bin/clusterprofile-conformance", COMMAND),
            ("renamed", COMMAND),
            ("kubectl", COMMAND),
            (
                "/root/.krew/bin/kubectl-clusterprofile_conformance",
                "kubectl clusterprofile-conformance",
            ),
            (
                "kubectl-clusterprofile_conformance.exe",
                "kubectl clusterprofile-conformance",
            ),
            ("kubectl-fleet-judge_all", "kubectl fleet judge-all"),
        ] {
            assert_eq!(typed(Some(OsStr::new(program))), expected, "{program}");
        }
        assert_eq!(typed(None), COMMAND);
    }

    #[test]
    fn usage_and_examples_say_what_is_typed() {
        let help = |called: &str| {
            let mut whole = worded(Cli::command(), called);
            whole.build();
            let run = whole.find_subcommand_mut("run").expect("it is there");
            run.render_long_help().to_string()
        };
        let plugin = help("kubectl clusterprofile-conformance");
        assert!(
            plugin.contains("Usage: kubectl clusterprofile-conformance run "),
            "{plugin}"
        );
        assert_eq!(
            plugin.replace("kubectl clusterprofile-conformance", COMMAND),
            help(COMMAND),
            "nothing else differs, and no example is left out"
        );
    }
}
