//! The keys of the configuration file: each is a flag of `run`.

use std::any::TypeId;

use clap::{Arg, ArgAction, Args as _, Command, ValueHint};
use evidence::{Environment, Implementation, Submitter};
use schemars::{Schema, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};

use super::{ABOUT, API_VERSION, FOR_ONE_CALL, KIND};
use crate::command::run::Run;

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
        KeyKind::Switch => json!({"type": "boolean"}),
        KeyKind::Number => json!({"type": "integer", "minimum": 0}),
        KeyKind::Text => text,
        KeyKind::List => json!({"anyOf": [text, {"type": "array", "items": text}]}),
    };
    property["description"] = key.arg.get_help().map(ToString::to_string).into();
    property
}
