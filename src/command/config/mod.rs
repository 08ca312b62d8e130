//! Settings: each flag of `run`, `replay` and `doctor` is also an environment variable and a key of the configuration file.
//!
//! A flag wins over its variable, and a variable wins over the file: clap takes the values of both as defaults.

mod file;
#[cfg(test)]
mod tests;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, parser::ValueSource};
use evidence::{About, Claim, api::Role};
use report::escape;

use self::file::ConfigFile;
pub use self::file::schema;
use crate::command::{
    Failure, RunCommand, bail_usage,
    flags::{
        claim::{judged_roles, unused_flag, unused_in_run},
        files::read_named_text,
    },
};

pub const CONFIGURABLE: [&str; 3] = ["run", "replay", "doctor"];

const API_VERSION: &str = "conformance.clusterprofile/v1";
const KIND: &str = "Configuration";
/// The keys without a flag.
const ABOUT: [&str; 3] = ["implementation", "submittedBy", "environment"];
/// The variable of `--clusterset` is `CLUSTERPROFILE_CONFORMANCE_CLUSTERSET`.
const PREFIX: &str = "CLUSTERPROFILE_CONFORMANCE_";
/// Flags for a single call. The formats of `doctor` are not those of `run`.
const FOR_ONE_CALL: [&str; 5] = ["config", "clean", "help", "version", "diagnosis"];
/// Values of path flags that are not paths.
const WORDS: [&str; 4] = ["-", "from-secrets", "none", "reference"];

/// Which configuration file to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// Read flags from this file
    ///
    /// For example conformance.yaml. The command line wins. There is no default file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The id and the name of each flag, variable and key that is set.
    #[arg(skip)]
    pub set: Vec<(String, String)>,
}

impl ConfigFlags {
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Prints which settings do not apply to the roles of recorded evidence.
    pub fn note_unused(&self, claim: &Claim) {
        let roles: Vec<_> = claim.roles().collect();
        for (id, name) in &self.set {
            if let Some(reason) = unused_flag(id, &roles) {
                note_ignored(name, &reason);
            }
        }
    }
}

/// The settings of a subcommand from everywhere.
pub struct Settings {
    pub matches: ArgMatches,
    /// What the file says of the run.
    pub about: About,
    /// The id and the name of each setting.
    pub set: Vec<(String, String)>,
}

impl Settings {
    /// Reads the command line, the variables and the configuration file of a subcommand. Ends the process if the command
    /// line is invalid.
    pub fn read(whole: &Command, name: &str, args: &[OsString]) -> Result<Self, Failure> {
        let command = whole.find_subcommand(name).unwrap_or(whole);
        let matches = whole.clone().get_matches_from(args);
        let set = from_command_line(command, flags_of(&matches));
        let mut set = with_weaker(set, from_variables(command)?, command)?;
        let mut about = About::default();
        if let Some(config) = set.iter().find(|setting| setting.id == "config") {
            let file = read_file(Path::new(&config.values[0]))?;
            about = file.about;
            set = with_weaker(set, file.settings, command)?;
        }
        let matches = with_defaults(whole, command, &set).get_matches_from(args);
        if let Some(roles) = judged_roles(flags_of(&matches)) {
            set = used_by(&roles, set)?;
        }
        Ok(Self {
            matches: with_defaults(whole, command, &set).get_matches_from(args),
            about,
            set: set
                .into_iter()
                .map(|setting| (setting.id, setting.name))
                .collect(),
        })
    }
}

/// The settings that a run of these roles uses. Runs of several roles may share variables and a file, but not flags.
fn used_by(roles: &[Role], set: Vec<Setting>) -> Result<Vec<Setting>, Failure> {
    let mut used = Vec::new();
    for setting in set {
        match unused_in_run(&setting.id, roles) {
            None => used.push(setting),
            Some(reason) if setting.name.starts_with("--") => {
                bail_usage!("{} cannot be used here: {reason}", setting.name)
            }
            Some(reason) => note_ignored(&setting.name, &reason),
        }
    }
    Ok(used)
}

/// The values of a flag, and where they come from.
#[derive(Clone, Debug)]
struct Setting {
    /// The flag, the variable, or the key and its file, as messages name it.
    name: String,
    /// The flag's id.
    id: String,
    values: Vec<OsString>,
}

impl Setting {
    /// Checks the values as the flag does: clap does not check defaults.
    fn check(&self, arg: &Arg) -> Result<(), String> {
        let Some(long) = arg.get_long() else {
            // FILTER can be any text.
            return Ok(());
        };
        if is_switch(arg) {
            let is_valid = self.values.iter().all(|value| value == "true");
            return is_valid.then_some(()).ok_or("expected true or false".to_owned());
        }
        let words = self.values.iter().map(|value| {
            let mut word = OsString::from(format!("--{long}="));
            word.push(value);
            word
        });
        let run = RunCommand::augment_args(Command::new("run").no_binary_name(true));
        let read = run.try_get_matches_from(words);
        read.map(drop).map_err(|error| without_usage(&error))
    }

    /// Whether a command declares that it cannot use two settings together.
    fn conflicts_with(&self, other: &Setting, command: &Command) -> bool {
        let excludes = |one: &Setting, other: &Setting| {
            let arg = command.get_arguments().find(|arg| *arg.get_id() == *one.id);
            let excluded = arg.map_or_else(Vec::new, |arg| command.get_arg_conflicts_with(arg));
            excluded.iter().any(|arg| *arg.get_id() == *other.id)
        };
        excludes(self, other) || excludes(other, self)
    }

    /// Whether a setting has no use with a stronger one, for a reason that clap does not know.
    fn gives_way_to(&self, stronger: &Setting) -> bool {
        match (&*self.id, &*stronger.id) {
            // The reference manager needs none of the user's files. A word like `none` is not a file.
            ("members" | "provider_file" | "audit_logs" | "driver", "manager") => {
                let is_word = |value: &OsString| WORDS.iter().any(|word| value == word);
                !self.values.iter().any(is_word)
            }
            // A run and its replay can share a file.
            ("record", "evidence") => true,
            ("record", "from") => self.is_same_file(stronger),
            ("features", "no_features") | ("no_features", "features") => {
                self.values.iter().any(|value| stronger.values.contains(value))
            }
            _ => false,
        }
    }

    fn is_same_file(&self, other: &Setting) -> bool {
        let file = |setting: &Setting| Path::new(setting.values.first()?).canonicalize().ok();
        file(self).is_some_and(|path| file(other) == Some(path))
    }
}

/// The settings of the command line.
fn from_command_line(command: &Command, flags: &ArgMatches) -> Vec<Setting> {
    let ids = command.get_arguments().map(|arg| (arg, arg.get_id().as_str()));
    let set = ids.filter(|(_, id)| flags.value_source(id) == Some(ValueSource::CommandLine));
    let setting = |(arg, id): (&Arg, &str)| {
        let long = arg.get_long();
        let values = flags.get_raw(id).into_iter().flatten();
        Setting {
            name: long.map_or_else(|| id.to_owned(), |long| format!("--{long}")),
            id: id.to_owned(),
            values: values.map(OsString::from).collect(),
        }
    };
    set.map(setting).collect()
}

/// The settings of the environment.
fn from_variables(command: &Command) -> Result<Vec<Setting>, Failure> {
    let mut settings = Vec::new();
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let is_setting = id == "config" || !FOR_ONE_CALL.contains(&id);
        let Some(long) = arg.get_long().filter(|_| is_setting) else {
            continue;
        };
        let name = format!("{PREFIX}{}", long.replace('-', "_").to_uppercase());
        let value = env::var_os(&name).filter(|value| !(is_switch(arg) && value == "false"));
        if let Some(value) = value {
            let setting = Setting {
                name,
                id: id.to_owned(),
                values: vec![value],
            };
            let checked = setting.check(arg);
            checked.map_err(|why| Failure::usage(anyhow!("{}: {why}", setting.name)))?;
            settings.push(setting);
        }
    }
    Ok(settings)
}

fn read_file(path: &Path) -> Result<ConfigFile, Failure> {
    let text = read_named_text("configuration", path)?;
    ConfigFile::parse(&text, path).map_err(|why| {
        Failure::usage(anyhow!(
            "the configuration {} cannot be used: {why}",
            path.display()
        ))
    })
}

/// Adds the settings of a weaker source that the cmd has, and that no stronger setting replaces or excludes.
fn with_weaker(stronger: Vec<Setting>, weaker: Vec<Setting>, cmd: &Command) -> Result<Vec<Setting>, Failure> {
    let mut used: Vec<Setting> = Vec::new();
    for setting in weaker {
        let is_known = cmd.get_arguments().any(|arg| *arg.get_id() == *setting.id);
        if !is_known || stronger.iter().any(|other| other.id == setting.id) {
            continue;
        }
        let excludes = |other: &&Setting| setting.conflicts_with(other, cmd) || setting.gives_way_to(other);
        if let Some(other) = stronger.iter().find(excludes) {
            note_ignored(&setting.name, &format!("it conflicts with {}", other.name));
        } else if let Some(other) = used.iter().find(|other| setting.conflicts_with(other, cmd)) {
            bail_usage!("{} cannot be used with {}", setting.name, other.name);
        } else {
            used.push(setting);
        }
    }
    Ok(stronger.into_iter().chain(used).collect())
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn flags_of(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, flags)| flags)
}

/// Makes the settings the defaults of their flags.
fn with_defaults(whole: &Command, subcommand: &Command, settings: &[Setting]) -> Command {
    whole.clone().mut_subcommand(subcommand.get_name(), |command| {
        command.mut_args(
            |arg| match settings.iter().find(|setting| *arg.get_id() == *setting.id) {
                Some(setting) => arg.default_values(setting.values.clone()),
                None => arg,
            },
        )
    })
}

fn note_ignored(name: &str, reason: &str) {
    let text = format!("ignoring {name}: {reason}");
    anstream::eprintln!("note: {}", escape::line(&text));
}

/// Clap's error in one line, without its advice for a command line.
fn without_usage(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim);
    let message = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let message: Vec<&str> = message.filter(|line| !line.is_empty()).collect();
    let message = message.join("; ");
    message.strip_prefix("error: ").unwrap_or(&message).to_owned()
}
