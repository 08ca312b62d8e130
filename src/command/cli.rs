//! The command line as a whole.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::{
    ArgMatches, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint,
};
use clap_complete::Shell;
use clap_mangen::Man;
use report::COMMAND;

use crate::command::{
    config::{CONFIGURABLE, Settings},
    consumer_plugin, doctor, hub,
    manifests::{Crd, PrintSchema, Rbac},
    report as reports,
    rules::{self, explain},
    run,
    terminal::{
        ColorFlags, called,
        exit::{Exit, Failure},
        print,
    },
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
    #[command(flatten)]
    color: ColorFlags,
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    Run(Box<run::Run>),
    Doctor(Box<doctor::Doctor>),
    Replay(Box<run::Replay>),
    Report(reports::Report),
    List(rules::List),
    Explain(explain::Explain),
    Crd(Crd),
    Rbac(Rbac),
    Hub(hub::ServeHub),
    Schema(PrintSchema),
    Plugin(consumer_plugin::ConsumerPlugin),
    Completions(Completions),
    #[command(name = "man")]
    ManPages(ManPages),
    /// Print the version
    Version,
}

/// Reads a command line, the environment, and the configuration file. Ends the process for help, or if the command line
/// is invalid.
pub fn parse(given: &[OsString]) -> Result<Cli, Failure> {
    let whole = command_line();
    let matches = whole.clone().get_matches_from(given);
    let Some(name) = matches
        .subcommand_name()
        .filter(|name| CONFIGURABLE.contains(name))
    else {
        return Ok(cli(&matches));
    };
    let settings = Settings::read(&whole, name, given)?;
    let mut cli = cli(&settings.matches);
    let (config, claim) = match &mut cli.command {
        Subcommands::Run(run) => (&mut run.flags.config, &mut run.flags.claim),
        Subcommands::Doctor(doctor) => (&mut doctor.run.config, &mut doctor.run.claim),
        Subcommands::Replay(replay) => (&mut replay.config, &mut replay.claim),
        _ => return Ok(cli),
    };
    claim.about = settings.about;
    config.set = settings.set;
    Ok(cli)
}

fn cli(matches: &ArgMatches) -> Cli {
    Cli::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}

impl Cli {
    pub fn execute(self) -> Result<Exit, Failure> {
        self.color.apply();
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
            Subcommands::ManPages(pages) => pages.execute(),
            Subcommands::Version => print(&Cli::command().render_version()).map(|()| Exit::Success),
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
    let text = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let long = command.get_after_long_help().map(ToString::to_string);
    let typed = |text: String| text.replace(&format!("{COMMAND} "), &format!("{called} "));
    let command = command.after_help(typed(text));
    let command = match long {
        Some(long) => command.after_long_help(typed(long)),
        None => command,
    };
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
        print(&String::from_utf8_lossy(&script)).map(|()| Exit::Success)
    }
}

/// Write the manual pages into a folder: one for the command, one for each subcommand
#[derive(Debug, Args)]
struct ManPages {
    /// The folder, for example ~/.local/share/man/man1; it is made if it is missing
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

impl ManPages {
    fn execute(self) -> Result<Exit, Failure> {
        let folder = &self.folder;
        write_pages(folder)
            .with_context(|| format!("failed to write manual pages into {}", folder.display()))
            .map_err(Failure::could_not_run)?;
        Ok(Exit::Success)
    }
}

fn write_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut whole = Cli::command();
    // Gives the subcommands their full names.
    whole.build();
    let source = whole.render_version();
    write_page(&whole, source.trim_end(), folder)
}

fn write_page(command: &Command, source: &str, folder: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_page(subcommand, source, folder)?;
    }
    let page = Man::new(command.clone())
        .source(source)
        .manual("ClusterProfile conformance");
    let mut text = Vec::new();
    page.render(&mut text)?;
    // Flags and commands are there to be copied: no hyphenation, ragged lines.
    let text = String::from_utf8_lossy(&text).replacen(".SH NAME\n", ".nh\n.ad l\n.SH NAME\n", 1);
    fs::write(folder.join(page.get_filename()), text)
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
