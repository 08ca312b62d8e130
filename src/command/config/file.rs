//! The configuration file: each key is a flag of `run`.

use std::{any::TypeId, collections::BTreeMap, path::Path};

use clap::{Arg, ArgAction, Args as _, Command, ValueHint};
use evidence::{About, Environment, Implementation, Submitter, api::UnknownName, user_file};
use schemars::{Schema, generate::SchemaSettings, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ABOUT, API_VERSION, FOR_ONE_CALL, KIND, Setting, WORDS};
use crate::command::RunCommand;

#[derive(Debug)]
pub struct ConfigFile {
    pub about: About,
    pub settings: Vec<Setting>,
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
    /// Reads the file at a path. Each of its values is valid for its flag, and its relative paths start at its folder.
    pub fn parse(text: &str, path: &Path) -> Result<Self, String> {
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
        let run = RunCommand::augment_args(Command::new("run"));
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut settings: Vec<Setting> = Vec::new();
        for (name, value) in &file.settings {
            let place = place_of(text, name);
            let setting = read_setting(&run, folder, name, value).map_err(|why| format!("{place}{why}"))?;
            if setting.values.is_empty() {
                // A switch that is off and an empty list are as without them.
                continue;
            }
            if let Some(other) = settings.iter().find(|other| setting.conflicts_with(other, &run)) {
                return Err(format!(
                    "{place}{} cannot be used with {}",
                    setting.name, other.name
                ));
            }
            settings.push(setting);
        }
        for setting in &mut settings {
            setting.name += &format!(" of {}", path.display());
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
}

fn read_setting(run: &Command, folder: &Path, name: &str, value: &Value) -> Result<Setting, String> {
    let Some(key) = keys(run).find(|key| key.name == name) else {
        return Err(unknown_key(run, name));
    };
    let texts = key.texts(value).map_err(|why| format!("`{name}`: {why}"))?;
    let is_path = |text: &str| key.is_path() && !WORDS.contains(&text);
    let values = texts.into_iter().map(|text| {
        if is_path(&text) {
            folder.join(text).into_os_string()
        } else {
            text.into()
        }
    });
    let setting = Setting {
        name: format!("`{name}`"),
        id: key.arg.get_id().to_string(),
        values: values.collect(),
    };
    setting.check(key.arg).map_err(|why| format!("`{name}`: {why}"))?;
    Ok(setting)
}

fn unknown_key(run: &Command, name: &str) -> String {
    let names: Vec<String> = keys(run).map(|key| key.name).collect();
    let names = names.iter().map(String::as_str).chain(ABOUT);
    let mut unknown = UnknownName::among("key", &camel_case(name), names);
    name.clone_into(&mut unknown.input);
    format!(
        "{unknown} (the keys are the flags of `run` in camelCase, {})",
        ABOUT.join(", ")
    )
}

/// Where the file has a key, for example `line 3: `; empty if the key does not begin a line.
fn place_of(text: &str, key: &str) -> String {
    let is_key = |line: &str| {
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let line = text.lines().position(is_key);
    line.map_or_else(String::new, |line| format!("line {}: ", line + 1))
}

pub struct Key<'a> {
    pub name: String,
    pub kind: KeyKind,
    pub arg: &'a Arg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    Switch,
    Number,
    Text,
    List,
}

/// The keys of a command's flags, in the order of its help.
pub fn keys(command: &Command) -> impl Iterator<Item = Key<'_>> {
    let is_key = |arg: &&Arg| !FOR_ONE_CALL.contains(&arg.get_id().as_str());
    command.get_arguments().filter(is_key).map(Key::new)
}

impl<'a> Key<'a> {
    fn new(arg: &'a Arg) -> Self {
        let id = arg.get_id().as_str();
        let value_type = arg.get_value_parser().type_id();
        let is_number = value_type == TypeId::of::<u64>() || value_type == TypeId::of::<usize>();
        Self {
            name: match id {
                // The file has an `apiVersion` of its own.
                "api_version" => "profileApiVersion".to_owned(),
                _ => camel_case(arg.get_long().unwrap_or(id)),
            },
            kind: match arg.get_action() {
                ArgAction::SetTrue => KeyKind::Switch,
                ArgAction::Append => KeyKind::List,
                _ if is_number => KeyKind::Number,
                _ => KeyKind::Text,
            },
            arg,
        }
    }

    /// Whether its values are files or folders.
    pub fn is_path(&self) -> bool {
        matches!(
            self.arg.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath | ValueHint::ExecutablePath
        )
    }

    /// The texts of a value, as a flag would have them. A switch that is off has none.
    pub fn texts(&self, value: &Value) -> Result<Vec<String>, &'static str> {
        match (self.kind, value) {
            (_, Value::Null) => Err("has no value"),
            (KeyKind::Switch, Value::Bool(false)) => Ok(Vec::new()),
            (KeyKind::Switch, Value::Bool(true)) => Ok(vec!["true".to_owned()]),
            (KeyKind::Switch, _) => Err("expected true or false"),
            (KeyKind::Number, Value::Number(number)) => Ok(vec![number.to_string()]),
            (KeyKind::Number, _) => Err("expected a number"),
            (KeyKind::List, Value::Array(list)) => {
                let texts = list.iter().map(|value| value.as_str().map(str::to_owned));
                texts
                    .collect::<Option<_>>()
                    .ok_or("expected a list of texts: put each in quotes")
            }
            (KeyKind::List | KeyKind::Text, Value::String(text)) => Ok(vec![text.clone()]),
            (KeyKind::List | KeyKind::Text, _) => Err("expected one text: put it in quotes"),
        }
    }
}

/// `no-probe` becomes `noProbe`.
pub fn camel_case(name: &str) -> String {
    let mut words = name.split(['-', '_']);
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        name + &head.to_uppercase() + tail
    })
}

pub fn schema() -> Schema {
    let mut properties = Map::new();
    properties.insert("apiVersion".to_owned(), json!({"const": API_VERSION}));
    properties.insert("kind".to_owned(), json!({"const": KIND}));
    for key in keys(&RunCommand::augment_args(Command::new("run"))) {
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
        KeyKind::Switch => json!({"type": "boolean"}),
        KeyKind::Number => json!({"type": "integer", "minimum": 0}),
        KeyKind::Text => text,
        KeyKind::List => json!({"anyOf": [text, {"type": "array", "items": text}]}),
    };
    property["description"] = key.arg.get_help().map(ToString::to_string).into();
    property
}
