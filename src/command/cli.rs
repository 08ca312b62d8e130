//! The command line as a whole.

use std::ffi::OsString;

use clap::{
    ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::{Resettable, StyledStr},
};
use clap_complete::Shell;
use report::COMMAND;

use crate::command::{
    Exit, Failure, called,
    config::{CONFIGURABLE, Settings},
    consumer_plugin, doctor, hub,
    manifests::{Crd, PrintSchema, Rbac},
    print, report as reports, rules,
    rules::explain,
    run,
};

/// Checks whether a cluster manager follows the rules of the ClusterProfile API (KEP-4322) on a hub.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 conformant, 1 not conformant, 2 bad usage or configuration, 3 inconclusive, \
                  4 could not run."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    Run(Box<run::RunCommand>),
    Doctor(Box<doctor::Doctor>),
    Replay(Box<run::Replay>),
    Report(reports::ReportCommand),
    List(rules::List),
    Explain(explain::Explain),
    Crd(Crd),
    Rbac(Rbac),
    Hub(hub::ServeHub),
    Schema(PrintSchema),
    Plugin(consumer_plugin::ConsumerPlugin),
    Completions(Completions),
    /// Print the version
    Version,
}

/// Reads a command line, the environment, and the configuration file. Ends the process for help, or if the command line
/// is invalid.
pub fn parse(args: &[OsString]) -> Result<Cli, Failure> {
    let whole = command_line();
    let matches = whole.clone().get_matches_from(args);
    let Some(name) = matches
        .subcommand_name()
        .filter(|name| CONFIGURABLE.contains(name))
    else {
        return Ok(cli(&matches));
    };
    let settings = Settings::read(&whole, name, args)?;
    let mut cli = cli(&settings.matches);
    let judge = match &mut cli.command {
        Subcommands::Run(run) => &mut run.flags.judge,
        Subcommands::Doctor(doctor) => &mut doctor.run.judge,
        Subcommands::Replay(replay) => &mut replay.judge,
        _ => return Ok(cli),
    };
    judge.claim.about = settings.about;
    judge.config.set = settings.set;
    Ok(cli)
}

fn cli(matches: &ArgMatches) -> Cli {
    Cli::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}

impl Cli {
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.command {
            Subcommands::Run(run) => run.execute(),
            Subcommands::Doctor(doctor) => doctor.execute(),
            Subcommands::Replay(replay) => replay.execute(),
            Subcommands::Report(report) => report.execute(),
            Subcommands::List(list) => list.execute(),
            Subcommands::Explain(explain) => explain.execute(),
            Subcommands::Crd(crd) => crd.execute(),
            Subcommands::Rbac(rbac) => rbac.execute(),
            Subcommands::Hub(hub) => hub.execute(),
            Subcommands::Schema(schema) => schema.execute(),
            Subcommands::Plugin(plugin) => plugin.execute(),
            Subcommands::Completions(completions) => completions.execute(),
            Subcommands::Version => print(&Cli::command().render_version()),
        }
    }
}

/// The flags of the first day, which `-h` shows first.
const FIRST: [&str; 6] = ["context", "observe", "members", "driver", "html", "record"];
/// The other flags that `-h` shows.
const SHORT_HELP: [&str; 10] = [
    "filters",
    "kubeconfig",
    "namespaces",
    "cluster_manager",
    "hub",
    "manager",
    "from",
    "config",
    "junit",
    "diagnosis",
];

/// The command line, whose usage and examples say what the user types.
pub fn command_line() -> Command {
    let mut whole = Cli::command();
    for name in CONFIGURABLE {
        whole = whole.mut_subcommand(name, |command| command.mut_args(with_short_help));
    }
    if called() == COMMAND {
        whole
    } else {
        with_name(whole.bin_name(called()), called())
    }
}

/// Shows a flag in `-h` or in `--help` alone.
fn with_short_help(arg: clap::Arg) -> clap::Arg {
    let id = arg.get_id().as_str();
    let is_first = FIRST.iter().position(|first| *first == id);
    let is_short = is_first.is_some() || SHORT_HELP.contains(&id);
    match is_first {
        Some(place) => arg.help_heading(None).display_order(place),
        None => arg.hide_short_help(!is_short),
    }
}

/// Puts the command as the user types it into the text after the help of a command and of its subcommands.
fn with_name(command: Command, called: &str) -> Command {
    let typed = |text: Option<&StyledStr>| {
        let text = text.map(|text| {
            text.to_string()
                .replace(&format!("{COMMAND} "), &format!("{called} "))
        });
        Resettable::from(text.map(StyledStr::from))
    };
    let (text, long) = (
        typed(command.get_after_help()),
        typed(command.get_after_long_help()),
    );
    let command = command.after_help(text).after_long_help(long);
    command.mut_subcommands(|subcommand| with_name(subcommand, called))
}

/// Print a script that completes this command in a shell
#[derive(Debug, Args)]
struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    fn execute(self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), COMMAND, &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_and_examples_say_what_is_typed() {
        let help = |whole: Command| {
            let mut whole = whole;
            whole.build();
            let run = whole.find_subcommand_mut("run").expect("run");
            run.render_long_help().to_string()
        };
        let called = "kubectl clusterprofile-conformance";
        let plugin = help(with_name(command_line().bin_name(called), called));
        assert!(plugin.contains(&format!("Usage: {called} run ")), "{plugin}");
        assert_eq!(plugin.replace(called, COMMAND), help(command_line()));
    }

    #[test]
    fn the_short_help_of_run_fits_one_screen() {
        let mut whole = command_line();
        whole.build();
        let run = whole.find_subcommand_mut("run").expect("run");
        let help = run.render_help().to_string();
        assert!(help.lines().count() <= 36, "{help}");
        let flags = FIRST.iter().map(|id| help.find(&format!("--{id} ")).expect(id));
        let flags: Vec<usize> = flags.collect();
        assert!(flags.is_sorted(), "{help}");
    }
}
