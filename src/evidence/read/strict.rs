//! Reads evidence that the suite's authors wrote, and refuses unknown keys. The evidence types are lenient because a hub
//! may serve anything, so a misspelt key in an example would have no effect.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Evidence, ProfileHistory, SliceHistory, api::names};

/// Reads evidence.
///
/// # Errors
///
/// A message that says what does not fit, or names an unknown key.
pub fn evidence(value: &Value) -> Result<Evidence, String> {
    read("evidence", value)
}

/// Reads the histories of profiles.
///
/// # Errors
///
/// As [`evidence`].
pub fn profiles(value: &Value) -> Result<Vec<ProfileHistory>, String> {
    read(names::KIND, value)
}

/// Reads the histories of slices.
///
/// # Errors
///
/// As [`evidence`].
pub fn slices(value: &Value) -> Result<Vec<SliceHistory>, String> {
    read(names::PLACEMENT_KIND, value)
}

fn read<T>(part: &str, value: &Value) -> Result<T, String>
where
    T: Serialize + DeserializeOwned,
{
    let unreadable = |error| format!("{part}: {error}");
    let object: T = serde_json::from_value(value.clone()).map_err(unreadable)?;
    let output = serde_json::to_value(&object).map_err(unreadable)?;
    match lost(value, &output) {
        Some(path) => Err(format!("{part}: unknown key `{path}`")),
        None => Ok(object),
    }
}

/// The path of a given key that was lost in reading and writing back.
fn lost(input: &Value, output: &Value) -> Option<String> {
    match (input, output) {
        (Value::Object(input), Value::Object(output)) => input.iter().find_map(|(key, value)| {
            match output.get(key) {
                Some(part) => lost(value, part).map(|path| format!("{key}.{path}")),
                // Empty values are not written back.
                None if is_empty(value) => None,
                None => Some(key.clone()),
            }
        }),
        (Value::Array(input), Value::Array(output)) => {
            let mut items = input.iter().zip(output).enumerate();
            items.find_map(|(index, (value, part))| Some(format!("{index}.{}", lost(value, part)?)))
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(true) => false,
    }
}
