//! The command line, whose usage and examples say what the user types.

use clap::{Command, CommandFactory as _};
use report::COMMAND;

use super::Cli;
use crate::command::terminal::called::called;

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

#[cfg(test)]
mod tests {
    use super::*;

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
