//! The configuration file: what it says of each flag.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches, Args as _, Command};
use evidence::{About, Environment, Implementation, Submitter, api::UnknownName, user_file};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ABOUT, API_VERSION, KIND, conflict, contains,
    keys::{Key, KeyKind, WORDS, camel_case, keys},
    long, note,
};
use crate::command::run::Run;

/// Files that are of no use with the reference manager.
const FILES_OF_A_HUB: [&str; 4] = ["members", "provider_file", "audit_logs", "driver"];
/// Lists that cannot share a value.
const OPPOSITES: [(&str, &str); 2] = [("features", "no_features"), ("no_features", "features")];

#[derive(Debug)]
pub struct ConfigFile {
    pub about: About,
    pub settings: Vec<Setting>,
}

#[derive(Clone, Debug)]
pub struct Setting {
    pub key: String,
    arg: Arg,
    /// The line of the key, such as `line 3: `; empty if unknown.
    place: String,
    pub values: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileText {
    api_version: Option<String>,
    kind: Option<String>,
    implementation: Option<Implementation>,
    submitted_by: Option<Submitter>,
    environment: Option<Environment>,
    #[serde(flatten)]
    settings: BTreeMap<String, Value>,
}

impl ConfigFile {
    /// Reads a file; each of its values is valid for its flag.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: FileText = user_file::read(text).map_err(|error| error.to_string())?;
        for (key, value, expected) in [
            ("apiVersion", &file.api_version, API_VERSION),
            ("kind", &file.kind, KIND),
        ] {
            if value.as_deref() != Some(expected) {
                let value = value.as_deref().unwrap_or("nothing");
                return Err(format!("expected `{key}: {expected}`, got {value}"));
            }
        }
        let run = Run::augment_args(Command::new("run").no_binary_name(true));
        let mut settings = Vec::new();
        for (name, value) in &file.settings {
            let place = place_of(text, name);
            let setting = Setting::read(&run, name, value, place.clone());
            let setting = setting.map_err(|why| format!("{place}{why}"))?;
            // A switch that is off and an empty list are as without them.
            let is_set = !setting.values.is_empty() && setting.values != ["false"];
            settings.extend(is_set.then_some(setting));
        }
        for setting in &settings {
            if let Some(other) = settings
                .iter()
                .find(|other| conflict(&run, &setting.arg, &other.arg))
            {
                let (place, key) = (&setting.place, &setting.key);
                return Err(format!("{place}`{key}` cannot be used with `{}`", other.key));
            }
        }
        Ok(Self {
            about: About {
                implementation: file.implementation,
                submitted_by: file.submitted_by,
                environment: file.environment,
            },
            settings,
        })
    }

    /// The settings that a command has, and that neither the user nor a conflicting flag sets. Paths start at the file.
    pub fn used(
        &self,
        own: &Command,
        set: &[String],
        flags: &ArgMatches,
        path: &Path,
    ) -> Result<Vec<Setting>, String> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut used = Vec::new();
        for setting in &self.settings {
            let mut args = own.get_arguments();
            let arg = args.find(|arg| arg.get_id() == setting.id() && !contains(set, arg));
            // A run and its replay can share a file.
            if arg.is_none() || (setting.id() == "record" && setting.is_read(own, flags, folder)) {
                continue;
            }
            let gives_way = |flag: &&Arg| {
                contains(set, flag) && (conflict(own, &setting.arg, flag) || setting.is_useless_with(flag))
            };
            if let Some(flag) = own.get_arguments().find(gives_way) {
                note(path, &setting.key, &format!("it conflicts with --{}", long(flag)));
                continue;
            }
            let mut setting = setting.clone();
            if let Some((_, opposite)) = OPPOSITES.iter().find(|(list, _)| *list == setting.id()) {
                let excluded: Vec<&OsStr> = flags.get_raw(opposite).into_iter().flatten().collect();
                setting
                    .values
                    .retain(|value| !excluded.contains(&OsStr::new(value)));
            }
            if Key::new(&setting.arg).is_path() {
                for value in setting
                    .values
                    .iter_mut()
                    .filter(|value| !WORDS.contains(&&***value))
                {
                    let path = folder.join(&*value);
                    *value = path.to_str().ok_or("its folder is not UTF-8")?.to_owned();
                }
            }
            used.extend((!setting.values.is_empty()).then_some(setting));
        }
        Ok(used)
    }
}

impl Setting {
    /// Reads the value of a key as its flag does.
    fn read(run: &Command, name: &str, value: &Value, place: String) -> Result<Self, String> {
        let Some(key) = keys(run).find(|key| key.name == name) else {
            let known: Vec<String> = keys(run).map(|key| key.name).collect();
            let known = known.iter().map(String::as_str).chain(ABOUT);
            let mut unknown = UnknownName::among("key", &camel_case(name), known);
            name.clone_into(&mut unknown.given);
            return Err(match unknown.nearest {
                Some(_) => unknown.to_string(),
                None => format!(
                    "{unknown}: the keys are the flags of `run` in camelCase, {}",
                    ABOUT.join(", ")
                ),
            });
        };
        let values = key.texts(value).map_err(|why| format!("`{name}`: {why}"))?;
        let words = values.iter().filter(|_| key.kind != KeyKind::Switch);
        let words = words.map(|value| match key.arg.get_long() {
            Some(long) => vec![format!("--{long}={value}")],
            None => vec!["--".to_owned(), value.clone()],
        });
        for words in words {
            let read = run.clone().try_get_matches_from(words);
            read.map_err(|error| format!("`{name}`: {}", without_usage(&error)))?;
        }
        Ok(Self {
            key: name.to_owned(),
            arg: key.arg.clone(),
            place,
            values,
        })
    }

    pub fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// Whether the command reads the evidence that it would record.
    fn is_read(&self, own: &Command, flags: &ArgMatches, folder: &Path) -> bool {
        let from = flags.try_get_one::<PathBuf>("from").ok().flatten();
        let is_same = |value: &String| {
            let recorded = folder.join(value).canonicalize().ok();
            recorded.is_some() && recorded == from.and_then(|from| from.canonicalize().ok())
        };
        own.get_name() == "replay" || self.values.iter().any(is_same)
    }

    /// Whether its files are of no use with `--manager`. A word such as `none` says what the user wants on each hub.
    fn is_useless_with(&self, flag: &Arg) -> bool {
        let has_word = self
            .values
            .iter()
            .any(|value| ["none", "reference"].contains(&&**value));
        flag.get_id() == "manager" && FILES_OF_A_HUB.contains(&self.id()) && !has_word
    }
}

/// Where the file has a key, such as `line 3: `; empty if the key does not begin a line.
fn place_of(text: &str, key: &str) -> String {
    let is_key = |line: &str| {
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let line = text.lines().position(is_key);
    line.map_or_else(String::new, |line| format!("line {}: ", line + 1))
}

/// Clap's error in one line, without its advice for a command line.
fn without_usage(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let text = lines.join("; ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}
