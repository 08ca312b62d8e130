//! Settings: each flag of `run`, `replay` and `doctor` is also an environment variable and a key of the configuration file.
//!
//! A flag wins over its variable, and a variable wins over the file: clap takes the file's values as defaults.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    path::{Path, PathBuf, absolute},
};

use anyhow::{Context as _, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, ValueHint, parser::ValueSource};
use evidence::{About, Claim, Environment, Implementation, Submitter, api::UnknownName, user_file};
use report::{escape, yaml::flow};
use schemars::{Schema, generate::SchemaSettings, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::command::{
    flags::{
        claim::{judged_roles, unused_flag, unused_in_run},
        input::read_named_text,
    },
    run::Run,
    terminal::exit::Failure,
};

/// The subcommands with settings.
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
/// Values of path flags that are not paths.
const WORDS: [&str; 4] = ["-", "from-secrets", "none", "reference"];
/// Files that are of no use with the reference manager.
const FILES_OF_A_HUB: [&str; 4] = ["members", "provider_file", "audit_logs", "driver"];
/// Lists that cannot share a value.
const OPPOSITES: [(&str, &str); 2] = [("features", "no_features"), ("no_features", "features")];

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
    /// The file that was read.
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
    /// All flags.
    pub matches: ArgMatches,
    /// What the file says of the run.
    pub about: About,
    /// The flags that the user set, by id.
    set: Vec<String>,
}

impl Settings {
    /// Reads the variables and the configuration file of a subcommand, whose flags on the command line are known. Ends the
    /// process if a variable is invalid.
    ///
    /// # Errors
    /// When the file cannot be used, or a flag does not apply to the roles that are judged.
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
                    return Err(Failure::usage(anyhow!("--{flag} cannot be used here: {reason}")));
                }
            }
        }
        set.extend(from_file.iter().map(|setting| setting.id().to_owned()));
        Ok(Self { matches, about, set })
    }

    /// Completes the flags that name the file. Returns what `--print-config` prints, if it is given.
    ///
    /// # Errors
    /// When a value cannot be printed.
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
        for key in keys(own).filter(|key| key.arg.get_long().is_some() || key.kind == Kind::List) {
            if let Some(value) = printed_value(&key, flags_of(&self.matches))? {
                let margin = if contains(&self.set, key.arg) { "" } else { "# " };
                _ = write!(text, "{margin}{}: {}", key.name, in_one_line(&value));
            }
        }
        let about = json!(self.about);
        for key in ABOUT {
            if let Some(Value::Object(parts)) = about.get(key) {
                _ = writeln!(text, "{key}:");
                for (part, value) in parts {
                    _ = write!(text, "  {part}: {}", in_one_line(value));
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

/// The flags of the subcommand.
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

/// The key of a flag.
struct Key<'a> {
    name: String,
    kind: Kind,
    arg: &'a Arg,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Switch,
    Number,
    Text,
    List,
}

/// The keys of a command's flags, in the order of its help.
fn keys(command: &Command) -> impl Iterator<Item = Key<'_>> {
    let is_key = |arg: &&Arg| !FOR_ONE_CALL.contains(&arg.get_id().as_str());
    command.get_arguments().filter(is_key).map(Key::new)
}

impl<'a> Key<'a> {
    fn new(arg: &'a Arg) -> Self {
        let value_type = arg.get_value_parser().type_id();
        let is_number =
            value_type == std::any::TypeId::of::<u64>() || value_type == std::any::TypeId::of::<usize>();
        Self {
            name: match arg.get_id().as_str() {
                // The file has an `apiVersion` of its own.
                "api_version" => "profileApiVersion".to_owned(),
                _ => camel_case(&long(arg)),
            },
            kind: match arg.get_action() {
                ArgAction::SetTrue => Kind::Switch,
                ArgAction::Append => Kind::List,
                _ if is_number => Kind::Number,
                _ => Kind::Text,
            },
            arg,
        }
    }

    /// Whether its values are files or folders.
    fn is_path(&self) -> bool {
        matches!(
            self.arg.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath | ValueHint::ExecutablePath
        )
    }

    /// The texts of a value, as a flag would have them.
    fn texts(&self, value: &Value) -> Result<Vec<String>, &'static str> {
        match (self.kind, value) {
            (_, Value::Null) => Err("has no value"),
            (Kind::Switch, Value::Bool(set)) => Ok(vec![set.to_string()]),
            (Kind::Switch, _) => Err("expected true or false"),
            (Kind::Number, Value::Number(number)) => Ok(vec![number.to_string()]),
            (Kind::Number, _) => Err("expected a number"),
            (Kind::List, Value::Array(list)) => {
                let texts = list.iter().map(|value| value.as_str().map(str::to_owned));
                texts
                    .collect::<Option<_>>()
                    .ok_or("expected a list of texts: put each in quotes")
            }
            (Kind::List | Kind::Text, Value::String(text)) => Ok(vec![text.clone()]),
            (Kind::List | Kind::Text, _) => Err("expected one text: put it in quotes"),
        }
    }
}

/// `no-probe` becomes `noProbe`.
fn camel_case(name: &str) -> String {
    let mut words = name.split(['-', '_']);
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        name + &head.to_uppercase() + tail
    })
}

/// The configuration file.
#[derive(Debug)]
struct ConfigFile {
    about: About,
    settings: Vec<Setting>,
}

/// What the file says of one flag.
#[derive(Clone, Debug)]
struct Setting {
    key: String,
    arg: Arg,
    /// The line of the key, such as `line 3: `; empty if unknown.
    place: String,
    values: Vec<String>,
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
    fn parse(text: &str) -> Result<Self, String> {
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
    fn used(
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
        let words = values.iter().filter(|_| key.kind != Kind::Switch);
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

    fn id(&self) -> &str {
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

/// The value of a flag, as a file has it. None if the flag is not set and has no default.
fn printed_value(key: &Key<'_>, flags: &ArgMatches) -> Result<Option<Value>, Failure> {
    if key.kind == Kind::Switch {
        return Ok(flags.get_flag(key.arg.get_id().as_str()).then_some(true.into()));
    }
    let mut values = Vec::new();
    for raw in flags.get_raw(key.arg.get_id().as_str()).into_iter().flatten() {
        let text = raw.to_str().ok_or_else(|| {
            Failure::usage(anyhow!(
                "a value of `{}` is not UTF-8, so it cannot be in a file",
                key.name
            ))
        })?;
        values.push(if key.is_path() && !WORDS.contains(&text) {
            let path = absolute(text).context("failed to find the current folder");
            path.map_err(Failure::could_not_run)?.display().to_string()
        } else {
            text.to_owned()
        });
    }
    Ok(match (key.kind, values.pop()) {
        (Kind::Number, Some(value)) => value.parse::<u64>().ok().map(Value::from),
        (Kind::List, Some(last)) => Some(values.into_iter().chain([last]).collect()),
        (_, value) => value.map(Value::from),
    })
}

fn in_one_line(value: &Value) -> String {
    flow(value) + "\n"
}

/// The JSON Schema of the file.
pub fn schema() -> Schema {
    let mut properties = Map::new();
    properties.insert("apiVersion".to_owned(), json!({"const": API_VERSION}));
    properties.insert("kind".to_owned(), json!({"const": KIND}));
    for key in keys(&Run::augment_args(Command::new("run"))) {
        properties.insert(key.name.clone(), property(&key));
    }
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    for (key, schema) in ABOUT.into_iter().zip([
        generator.subschema_for::<Implementation>(),
        generator.subschema_for::<Submitter>(),
        generator.subschema_for::<Environment>(),
    ]) {
        properties.insert(key.to_owned(), schema.into());
    }
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": ["apiVersion", "kind"],
        "additionalProperties": false,
        "$defs": generator.take_definitions(true),
    })
}

fn property(key: &Key<'_>) -> Value {
    let mut text = json!({"type": "string"});
    let names = key.arg.get_possible_values();
    if !names.is_empty() {
        text["enum"] = names.iter().map(|value| value.get_name()).collect();
    }
    let mut property = match key.kind {
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Text => text,
        Kind::List => json!({"anyOf": [text, {"type": "array", "items": text}]}),
    };
    property["description"] = key.arg.get_help().map(ToString::to_string).into();
    property
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(line: &str) -> String {
        format!("apiVersion: {API_VERSION}\nkind: {KIND}\n{line}\n")
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        let head = "apiVersion: conformance.clusterprofile/v1\nkind: Config";
        for (text, message) in [
            (
                "",
                "expected `apiVersion: conformance.clusterprofile/v1`, got nothing",
            ),
            ("[]", "not the YAML"),
            (head, "expected `kind: Configuration`, got Config"),
        ] {
            let error = ConfigFile::parse(text).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
        let unknown = "unknown key `cluster-manager`: did you mean `clusterManager`?";
        for (lines, message) in [
            ("cluster-manager: x", unknown),
            ("clean: true", "line 3: unknown key `clean`"),
            ("zzz: true", "the flags of `run` in camelCase"),
            ("context: 5", "line 3: `context`: expected one text"),
            ("context:", "`context`: has no value"),
            ("context: [a]", "expected one text"),
            (
                "namespace: [a, {}]",
                "line 3: `namespace`: expected a list of texts",
            ),
            ("strict: yes", "`strict`: expected true or false"),
            ("nodeTolerance: -1", "invalid value '-1'"),
            ("strict: true\nstrict: true", "`strict` is given twice"),
            (
                "probe: true\nnoProbe: true",
                "line 4: `noProbe` cannot be used with `probe`",
            ),
            (
                "implementation: {name: x}",
                "line 3, column 18: unknown key `name`",
            ),
            ("a: [", "not the YAML"),
        ] {
            let error = ConfigFile::parse(&with(lines)).expect_err(lines);
            assert!(error.contains(message), "{lines}: {error}");
        }
    }

    #[test]
    fn every_flag_of_run_has_a_key_of_its_own() {
        let run = Run::augment_args(Command::new("run"));
        let mut names: Vec<String> = keys(&run).map(|key| key.name).collect();
        let for_one_call = run.get_arguments().count() - names.len();
        assert_eq!(for_one_call, 3, "--config, --print-config and --clean");
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        let is_fixed = |name: &String| ["apiVersion", "kind"].contains(&&**name) || ABOUT.contains(&&**name);
        assert!(!names.iter().any(is_fixed));
        for name in "driver members providerFile auditLog kubeconfig from junit waivers".split(' ') {
            assert!(keys(&run).any(|key| key.name == name && key.is_path()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in "\\PC{0,80}",
            lines in proptest::collection::vec(("[a-zA-Z-]{1,12}|observe|members|implementation", "[ -~\n\t]{0,24}"), 0..4),
        ) {
            _ = ConfigFile::parse(&text);
            let lines: Vec<String> = lines.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
            _ = ConfigFile::parse(&with(&lines.join("\n")));
        }

        #[test]
        fn a_printed_configuration_is_read_again(
            context in "\\PC{1,20}|true|null|1e3|~|- a|a: b",
            skip in proptest::collection::vec("[ -~]{1,12}|no|0x1f", 1..4),
            project in "\\PC{0,20}",
        ) {
            let whole = crate::command::cli::command_line();
            let mut given = vec!["suite".to_owned(), "run".to_owned(), format!("--context={context}")];
            given.extend(skip.iter().map(|skip| format!("--skip={skip}")));
            let matches = whole.clone().try_get_matches_from(given).expect("flags");
            let own = subcommand(&whole, "run");
            let about = About {
                implementation: Some(Implementation { project, ..Implementation::default() }),
                ..About::default()
            };
            let set = set_by_user(own, flags_of(&matches));
            let settings = Settings { matches, about: about.clone(), set };
            let text = settings.text(own).expect("UTF-8");
            let file = ConfigFile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            prop_assert_eq!(file.about, about);
            let values: Vec<_> = file.settings.into_iter().map(|setting| setting.values).collect();
            prop_assert_eq!(values, [vec![context], skip]);
        }
    }
}
