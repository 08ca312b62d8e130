//! Merging the file into the command line.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{
    ArgMatches, Command, CommandFactory as _, FromArgMatches as _, error::ErrorKind, parser::ValueSource,
};
use evidence::api::Role;
use report::escape;

use super::{Cli, help::command_line};
use crate::command::{
    config::{
        environment::{CONFIGURABLE, conflict, with_environment},
        file::{File, Setting, unusable},
        keys::{Key, WORDS, keys},
        show::shown,
    },
    flags::roles,
    terminal::{color, exit::Failure},
};

/// Keys that give way to flags of another kind of hub, in addition to clap's conflicts.
const GIVE_WAY: [(&str, &str); 6] = [
    ("hub", "kubeconfig"),
    ("hub", "context"),
    ("members", "manager"),
    ("provider_file", "manager"),
    ("audit_logs", "manager"),
    ("driver", "manager"),
];

/// Whether a key gives way to a flag of another kind of hub. A file is of no use there; a word such as `none` says what the
/// user wants on each hub.
fn gives_way(setting: &Setting, flag: &str) -> bool {
    let is_word = |value: &String| matches!(&**value, "none" | "reference");
    !setting.values.iter().any(is_word) && GIVE_WAY.contains(&(setting.key.id(), flag))
}

/// Pairs of lists that cannot share a value.
const OPPOSITES: [(&str, &str); 2] = [("features", "no_features"), ("no_features", "features")];

/// Reads a command line and the configuration file that it names. Ends the process for help, or if the command line
/// alone is invalid.
///
/// # Errors
/// When the file cannot be used.
pub fn merged(given: &[OsString]) -> Result<Cli, Failure> {
    color::choose(given);
    let first = command_line().get_matches_from(given);
    let Some((name, flags)) = first.subcommand() else {
        return Ok(cli(&first));
    };
    if !CONFIGURABLE.contains(&name) {
        return Ok(cli(&first));
    }
    let environment = |command: Command| with_environment(command, name, flags);
    let second = environment(command_line()).get_matches_from(given);
    let flags = second.subcommand_matches(name).unwrap_or(flags);
    let whole = Cli::command();
    let run = subcommand(&whole, "run");
    let known = keys(run);
    let (file, merged) = match flags.get_one::<PathBuf>("config") {
        None => (None, second.clone()),
        Some(path) => {
            let file = File::read(path, &known)?;
            for setting in &file.settings {
                check(setting, path)?;
            }
            let tokens = tokens(&file, path, subcommand(&whole, name), flags);
            let arguments = insert(given, name, tokens);
            let merged = environment(Cli::command())
                .try_get_matches_from(arguments)
                .map_err(|error| unusable(path, &in_one_line(&error)))?;
            (Some(file), merged)
        }
    };
    if let Some((_, flags)) = merged.subcommand() {
        let in_file = file.as_ref().zip(flags.get_one::<PathBuf>("config"));
        check_roles(subcommand(&whole, name), flags, in_file)?;
    }
    let about = file.map(|file| file.about).unwrap_or_default();
    let mut cli = cli(&merged);
    if let (Some((config, claim)), Some((name, flags))) = (cli.configured(), merged.subcommand()) {
        claim.about.clone_from(&about);
        if config.print_config {
            config.shown = Some(shown(subcommand(&whole, name), flags, &about)?);
        }
    }
    Ok(cli)
}

fn cli(matches: &ArgMatches) -> Cli {
    Cli::from_arg_matches(matches).unwrap_or_else(|error| error.exit())
}

fn subcommand<'a>(whole: &'a Command, name: &str) -> &'a Command {
    // It was found there.
    whole.find_subcommand(name).unwrap_or(whole)
}

/// Checks a key's values with clap, so that an error can name its line.
fn check(setting: &Setting, path: &Path) -> Result<(), Failure> {
    let alone = ["clusterprofile-conformance", "run"].map(OsString::from);
    let tokens = Tokens::of(&setting.key, &setting.values);
    match Cli::command().try_get_matches_from(insert(&alone, "run", tokens)) {
        // Arguments that it requires may be elsewhere.
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => Err(unusable(
            path,
            &format!(
                "line {}: `{}`: {}",
                setting.line,
                setting.key.name,
                in_one_line(&error)
            ),
        )),
        _ => Ok(()),
    }
}

/// Refuses flags that the run has no use for: they are of a role that it does not judge.
fn check_roles(
    command: &Command,
    flags: &ArgMatches,
    in_file: Option<(&File, &PathBuf)>,
) -> Result<(), Failure> {
    for flag in command.get_arguments() {
        let id = flag.get_id().as_str();
        if !is_given(flags, id) {
            continue;
        }
        let reason = roles::useless_for(id, flags).map(|role| useless(role, flags));
        let Some((reason, otherwise)) = reason.or_else(|| roles::set_by_testbed(id, flags)) else {
            continue;
        };
        let told = |name: &str, leave: &str| format!("{name} {reason}: {leave}{otherwise}");
        let key = in_file.and_then(|(file, path)| {
            let mut settings = file.settings.iter();
            settings.find(|setting| setting.key.id() == id).zip(Some(path))
        });
        return Err(match key {
            Some((setting, path)) => unusable(
                path,
                &told(
                    &format!("line {}: `{}`", setting.line, setting.key.name),
                    "remove it",
                ),
            ),
            None => {
                let name = format!("--{}", flag.get_long().unwrap_or(id));
                Failure::usage(anyhow!(told(&name, "leave it out")))
            }
        });
    }
    Ok(())
}

/// Why the run does not use a flag of that role, and what else to do. A consumer is judged alone.
fn useless(role: Role, flags: &ArgMatches) -> (String, String) {
    let judged = roles::judged(flags).unwrap_or_default();
    let is_alone = role == Role::Consumer || judged.contains(&Role::Consumer);
    let wanted = if is_alone {
        format!("judge that role with --role {role}")
    } else {
        format!("add --role {}", Role::names(judged.into_iter().chain([role])))
    };
    (
        format!("is for the role {role}, which this run does not judge"),
        format!(", or {wanted}"),
    )
}

/// Arguments to put before and after the command line's own.
#[derive(Default)]
struct Tokens {
    flags: Vec<OsString>,
    positional: Vec<OsString>,
}

impl Tokens {
    fn of(key: &Key, values: &[String]) -> Self {
        let mut tokens = Self::default();
        match key.arg.get_long() {
            None => tokens.positional.extend(values.iter().map(OsString::from)),
            Some(long) if key.arg.get_action().takes_values() => {
                let flag = |value: &String| OsString::from(format!("--{long}={value}"));
                tokens.flags.extend(values.iter().map(flag));
            }
            Some(long) => tokens.flags.push(format!("--{long}").into()),
        }
        tokens
    }

    fn extend(&mut self, other: Self) {
        self.flags.extend(other.flags);
        self.positional.extend(other.positional);
    }
}

/// Whether the command line or the environment sets a flag.
fn is_given(flags: &ArgMatches, id: &str) -> bool {
    let source = flags.value_source(id);
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// Returns what the file adds to a command line with these flags.
fn tokens(file: &File, path: &Path, command: &Command, flags: &ArgMatches) -> Tokens {
    let own: Vec<Key> = keys(command);
    let is_given = |id: &str| is_given(flags, id);
    let mut tokens = Tokens::default();
    // Ignore keys of `run` that this command does not have.
    let has = |setting: &&Setting| own.iter().any(|key| key.id() == setting.key.id());
    for setting in file.settings.iter().filter(has) {
        let key = &setting.key;
        if is_given(key.id()) {
            continue;
        }
        let rival = command.get_arguments().find(|flag| {
            is_given(flag.get_id().as_str())
                && (conflict(command, &key.arg, flag) || gives_way(setting, flag.get_id().as_str()))
        });
        if let Some(flag) = rival {
            note(path, &key.name, flag.get_long().unwrap_or_default());
            continue;
        }
        // A file may serve runs of other roles.
        if roles::useless_for(key.id(), flags).is_some() && (is_given("roles") || is_given("edition")) {
            let flag = if is_given("roles") { "role" } else { "edition" };
            note(path, &key.name, flag);
            continue;
        }
        let mut values = setting.values.clone();
        for (list, opposite) in OPPOSITES.iter().filter(|(list, _)| *list == key.id()) {
            assert_ne!(list, opposite);
            let against: Vec<&OsStr> = flags
                .get_raw(opposite)
                .filter(|_| is_given(opposite))
                .map(Iterator::collect)
                .unwrap_or_default();
            values.retain(|value| !against.contains(&OsStr::new(value)));
        }
        if key.arg.get_action().takes_values() && values.is_empty() {
            note(path, &key.name, "the opposite flag");
            continue;
        }
        if key.is_path() {
            let folder = path.parent().unwrap_or(Path::new(""));
            for value in values.iter_mut().filter(|value| !WORDS.contains(&&***value)) {
                if let Some(path) = folder.join(&*value).to_str() {
                    path.clone_into(value);
                }
            }
        }
        if key.id() == "record" && values.iter().any(|value| is_read(Path::new(value), flags)) {
            print_note(
                path,
                "`record` gives way, as the evidence that is read is that file",
            );
            continue;
        }
        tokens.extend(Tokens::of(key, &values));
    }
    tokens
}

/// Whether it is the evidence that the command line judges: a run and its replay can share a file.
fn is_read(record: &Path, flags: &ArgMatches) -> bool {
    let is_same = |read: &PathBuf| {
        record
            .canonicalize()
            .is_ok_and(|record| read.canonicalize().is_ok_and(|read| read == record))
    };
    ["evidence", "from"].iter().any(|id| {
        let read = flags.try_get_many::<PathBuf>(id).ok().flatten();
        read.is_some_and(|mut read| read.any(is_same))
    })
}

fn note(path: &Path, key: &str, flag: &str) {
    print_note(path, &format!("`{key}` gives way to --{flag}"));
}

fn print_note(path: &Path, what: &str) {
    anstream::eprintln!("note: {}", escape::line(&format!("{}: {what}", path.display())));
}

/// Inserts the file's arguments after the subcommand's name, and at the end.
fn insert(given: &[OsString], subcommand: &str, tokens: Tokens) -> Vec<OsString> {
    let place = given.iter().skip(1).position(|given| given == subcommand);
    let (head, tail) = given.split_at(place.map_or(given.len(), |place| place + 2));
    let mut all = [head, &tokens.flags, tail].concat();
    if !tokens.positional.is_empty() {
        // They are no flags, even if they begin with a dash.
        if !given.iter().any(|given| given == "--") {
            all.push("--".into());
        }
        all.extend(tokens.positional);
    }
    all
}

/// Puts clap's error in one line, without its hints for a command line.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    // Clap puts lists of flags on lines of their own.
    let told = lines.join("; ").replace(":; ", ": ");
    told.strip_prefix("error: ").unwrap_or(&told).to_owned()
}
