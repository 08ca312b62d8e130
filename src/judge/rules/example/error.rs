//! Why an example cannot be read.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// An example that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the example `{example}`: {flaw}")]
pub struct ExampleError {
    /// The example's name; `unnamed` if it has none.
    pub example: String,
    /// What is wrong with it.
    #[source]
    pub flaw: Flaw,
}

/// A flaw in an example.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// The example or its world does not have the expected shape.
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    /// A part of the world does not have the expected shape.
    #[error("{part}: {source}")]
    Part {
        /// Which part, or which key.
        part: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A step that cannot happen, such as the deletion of a missing profile, or anything else that is wrong.
    #[error("{0}")]
    Step(String),
}

impl From<&str> for Flaw {
    fn from(message: &str) -> Self {
        Flaw::Step(message.to_owned())
    }
}

/// Deserializes a value and refuses unknown keys. The evidence types are lenient because a hub may serve anything, so
/// a misspelt key in an example would have no effect.
pub(super) fn strictly<T>(part: &'static str, value: &Value) -> Result<T, Flaw>
where
    T: Serialize + DeserializeOwned,
{
    let unreadable = |source| Flaw::Part { part, source };
    let read: T = serde_json::from_value(value.clone()).map_err(unreadable)?;
    let known = serde_json::to_value(&read).map_err(unreadable)?;
    match lost(value, &known) {
        Some(path) => Err(Flaw::Step(format!("{part}: unknown key `{path}`"))),
        None => Ok(read),
    }
}

/// The path of a given key that was lost in reading and writing back.
fn lost(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(key, value)| {
            match known.get(key) {
                Some(kept) => lost(value, kept).map(|path| format!("{key}.{path}")),
                // Empty values are not written back.
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
