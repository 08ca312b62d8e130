//! Why an example cannot be read.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// An example that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the example `{example}`: {message}")]
pub struct ExampleError {
    /// The example's name; `unnamed` where it has none.
    pub example: String,
    /// What is wrong with it.
    pub message: String,
}

/// Reads a value that may hold only keys which its type knows. The types of the evidence are lenient, as they
/// must read what a hub serves; an example that misspells a key would silently show nothing.
pub(super) fn strictly<T>(what: &str, value: &Value) -> Result<T, String>
where
    T: Serialize + DeserializeOwned,
{
    let read: T = serde_json::from_value(value.clone()).map_err(|error| format!("{what}: {error}"))?;
    let known = serde_json::to_value(&read).map_err(|error| format!("{what}: {error}"))?;
    match lost(value, &known) {
        Some(path) => Err(format!("{what}: unknown key `{path}`")),
        None => Ok(read),
    }
}

/// The path of a key that was given and that reading and writing back has lost.
fn lost(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(key, value)| {
            match known.get(key) {
                Some(kept) => lost(value, kept).map(|path| format!("{key}.{path}")),
                // What says nothing is not written back.
                None if is_nothing(value) => None,
                None => Some(key.clone()),
            }
        }),
        (Value::Array(given), Value::Array(known)) => given
            .iter()
            .zip(known)
            .enumerate()
            .find_map(|(index, (value, kept))| lost(value, kept).map(|path| format!("{index}.{path}"))),
        _ => None,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::Bool(true) => false,
    }
}
