//! Settings: each flag of `run`, `replay` and `doctor` is also an environment variable and a key of the configuration file.
//!
//! A flag wins over its variable, and a variable wins over the file: clap takes the file's values as defaults.

mod file;
mod keys;
#[cfg(test)]
mod tests;

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, parser::ValueSource};
use evidence::{About, Claim};
use report::{escape, yaml::flow};
use serde_json::{Value, json};

pub use self::keys::schema;
use self::{
    file::{ConfigFile, Setting},
    keys::{KeyKind, keys, printed_value},
};
use crate::command::{
    flags::{
        claim::{judged_roles, unused_flag, unused_in_run},
        input::read_named_text,
    },
    terminal::exit::{Failure, bail_usage},
};

pub const CONFIGURABLE: [&str; 3] = ["run", "replay", "doctor"];

const API_VERSION: &str = "conformance.clusterprofile/v1";
const KIND: &str = "Configuration";
/// The keys without a flag.
const ABOUT: [&str; 3] = ["implementation", "submittedBy", "environment"];
/// The variable of `--clusterset` is `CLUSTERPROFILE_CONFORMANCE_CLUSTERSET`.
const PREFIX: &str = "CLUSTERPROFILE_CONFORMANCE_";
/// Flags for a single call. The formats of `doctor` are not those of `run`.
const FOR_ONE_CALL: [&str; 7] = [
    "config",
    "print_config",
    "clean",
    "color",
    "help",
    "version",
    "diagnosis",
];

/// Which configuration file to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// Read flags from this file
    ///
    /// For example conformance.yaml. The command line wins. There is no default file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the effective configuration as such a file, and exit
    #[arg(long)]
    print_config: bool,
    /// The flags that are set, each by its id and its long name.
    #[arg(skip)]
    set: Vec<(String, String)>,
}

impl ConfigFlags {
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Prints which flags do not apply to the roles of recorded evidence.
    pub fn note_unused(&self, claim: &Claim) {
        let judged: Vec<_> = claim.roles().collect();
        for (id, name) in &self.set {
            if let Some(reason) = unused_flag(id, &judged) {
                anstream::eprintln!("note: ignoring --{name}: {reason}");
            }
        }
    }
}

/// The flags of a subcommand with its settings from everywhere.
pub struct Settings {
    pub matches: ArgMatches,
    /// What the file says of the run.
    pub about: About,
    /// The flags that the user set, by id.
    set: Vec<String>,
}

impl Settings {
    /// Reads the variables and the configuration file of a subcommand, whose flags on the command line are known. Ends the
    /// process if a variable is invalid.
    pub fn read(
        whole: &Command,
        name: &str,
        flags: &ArgMatches,
        given: &[OsString],
    ) -> Result<Self, Failure> {
        let own = subcommand(whole, name);
        let whole = with_variables(whole, own, flags);
        let mut matches = whole.clone().get_matches_from(given);
        let mut set = set_by_user(own, flags_of(&matches));
        let (mut about, mut from_file) = (About::default(), Vec::new());
        if let Some(path) = flags_of(&matches).get_one::<PathBuf>("config") {
            let text = read_named_text("configuration", path)?;
            let unusable = |why| {
                Failure::usage(anyhow!(
                    "the configuration {} cannot be used: {why}",
                    path.display()
                ))
            };
            let file = ConfigFile::parse(&text).map_err(unusable)?;
            let used = file.used(own, &set, flags_of(&matches), path);
            from_file = used.map_err(unusable)?;
            about = file.about;
            let merged = with_defaults(&whole, own, &from_file).get_matches_from(given);
            // A file may serve runs of other roles.
            if let Some(judged) = judged_roles(flags_of(&merged)) {
                from_file.retain(|setting| {
                    let reason = unused_in_run(setting.id(), &judged);
                    reason.is_none_or(|reason| {
                        note(path, &setting.key, &reason);
                        false
                    })
                });
            }
            matches = with_defaults(&whole, own, &from_file).get_matches_from(given);
        }
        if let Some(judged) = judged_roles(flags_of(&matches)) {
            for arg in own.get_arguments().filter(|arg| contains(&set, arg)) {
                if let Some(reason) = unused_in_run(arg.get_id().as_str(), &judged) {
                    let flag = long(arg);
                    bail_usage!("--{flag} cannot be used here: {reason}");
                }
            }
        }
        set.extend(from_file.iter().map(|setting| setting.id().to_owned()));
        Ok(Self { matches, about, set })
    }

    /// Completes the flags that name the file. Returns what `--print-config` prints, if it is given.
    pub fn complete(
        &self,
        whole: &Command,
        name: &str,
        config: &mut ConfigFlags,
    ) -> Result<Option<String>, Failure> {
        let own = subcommand(whole, name);
        let set = own.get_arguments().filter(|arg| contains(&self.set, arg));
        config.set = set.map(|arg| (arg.get_id().to_string(), long(arg))).collect();
        config.print_config.then(|| self.text(own)).transpose()
    }

    /// The settings as a configuration file. Paths are absolute, and other defaults are comments.
    fn text(&self, own: &Command) -> Result<String, Failure> {
        let mut text = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n");
        // Each replay names its own evidence.
        for key in keys(own).filter(|key| key.arg.get_long().is_some() || key.kind == KeyKind::List) {
            if let Some(value) = printed_value(&key, flags_of(&self.matches))? {
                let margin = if contains(&self.set, key.arg) { "" } else { "# " };
                _ = writeln!(text, "{margin}{}: {}", key.name, flow(&value));
            }
        }
        let about = json!(self.about);
        for key in ABOUT {
            if let Some(Value::Object(parts)) = about.get(key) {
                _ = writeln!(text, "{key}:");
                for (part, value) in parts {
                    _ = writeln!(text, "  {part}: {}", flow(value));
                }
            }
        }
        Ok(text)
    }
}

fn subcommand<'a>(whole: &'a Command, name: &str) -> &'a Command {
    whole.find_subcommand(name).unwrap_or(whole)
}

fn long(arg: &Arg) -> String {
    arg.get_long().unwrap_or(arg.get_id().as_str()).to_owned()
}

fn flags_of(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, flags)| flags)
}

/// The ids of the flags that the command line or a variable sets.
fn set_by_user(own: &Command, flags: &ArgMatches) -> Vec<String> {
    let ids = own.get_arguments().map(|arg| arg.get_id().as_str());
    let is_set = |id: &&str| {
        let source = flags.value_source(id);
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    ids.filter(is_set).map(str::to_owned).collect()
}

fn contains(ids: &[String], arg: &Arg) -> bool {
    ids.iter().any(|id| arg.get_id() == id)
}

/// Lets variables set the flags, except those that conflict with a flag of the command line.
fn with_variables(whole: &Command, own: &Command, flags: &ArgMatches) -> Command {
    let given: Vec<&Arg> = own
        .get_arguments()
        .filter(|arg| flags.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine))
        .collect();
    let gives_way = |arg: &Arg| given.iter().any(|flag| conflict(own, arg, flag));
    whole.clone().mut_subcommand(own.get_name(), |command| {
        command.mut_args(|arg| if gives_way(&arg) { arg } else { with_variable(arg) })
    })
}

fn with_variable(arg: Arg) -> Arg {
    let id = arg.get_id().as_str();
    let Some(long) = arg.get_long() else { return arg };
    if id != "config" && FOR_ONE_CALL.contains(&id) {
        return arg;
    }
    let name = format!("{PREFIX}{}", long.replace('-', "_").to_uppercase());
    let is_off = env::var(&name).is_ok_and(|value| value == "false");
    if is_off && matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg;
    }
    arg.env(name).hide_env(true)
}

/// Whether one of two arguments declares a conflict with the other.
fn conflict(command: &Command, one: &Arg, other: &Arg) -> bool {
    let excludes = |one: &Arg, other: &Arg| {
        let excluded = command.get_arg_conflicts_with(one);
        excluded.iter().any(|arg| arg.get_id() == other.get_id())
    };
    excludes(one, other) || excludes(other, one)
}

/// Makes the file's values the defaults of their flags.
fn with_defaults(whole: &Command, own: &Command, settings: &[Setting]) -> Command {
    whole.clone().mut_subcommand(own.get_name(), |command| {
        command.mut_args(
            |arg| match settings.iter().find(|setting| arg.get_id() == setting.id()) {
                Some(setting) => arg.default_values(setting.values.clone()),
                None => arg,
            },
        )
    })
}

fn note(path: &Path, key: &str, reason: &str) {
    let text = format!("ignoring `{key}` of {}: {reason}", path.display());
    anstream::eprintln!("note: {}", escape::line(&text));
}
