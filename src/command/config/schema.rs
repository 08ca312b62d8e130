//! The JSON Schema of the file.

use clap::{Args as _, Command};
use evidence::{Environment, Implementation, Submitter};
use schemars::{Schema, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};

use super::keys::{ABOUT, API_VERSION, KIND, Key, Kind, keys};
use crate::command::run::command::Run;

/// The schema, made from the flags of `run`.
pub fn schema() -> Schema {
    let mut properties = Map::new();
    properties.insert("apiVersion".to_owned(), json!({"const": API_VERSION}));
    properties.insert("kind".to_owned(), json!({"const": KIND}));
    for key in keys(&Run::augment_args(Command::new("run"))) {
        properties.insert(key.name.clone(), property(&key));
    }
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    for (key, of) in ABOUT.into_iter().zip([
        generator.subschema_for::<Implementation>(),
        generator.subschema_for::<Submitter>(),
        generator.subschema_for::<Environment>(),
    ]) {
        properties.insert(key.to_owned(), of.into());
    }
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": ["apiVersion", "kind"],
        "additionalProperties": false,
        "$defs": generator.take_definitions(true),
    })
}

fn property(key: &Key) -> Value {
    let mut one = json!({"type": "string"});
    let names = key.arg.get_possible_values();
    if !names.is_empty() && key.kind != Kind::Switch {
        one["enum"] = names.iter().map(|value| value.get_name()).collect();
    }
    let mut property = match key.kind {
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Text => one,
        Kind::List => json!({"anyOf": [one, {"type": "array", "items": one}]}),
    };
    let help = key.arg.get_long_help().or(key.arg.get_help());
    property["description"] = help.map(ToString::to_string).into();
    property
}
