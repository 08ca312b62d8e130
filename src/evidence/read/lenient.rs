//! Reads objects from untrusted JSON. An error names the part that does not fit and quotes no value.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    Namespace, ObjectRef, Tracked, Unreadable,
    api::{Metadata, shape::Object},
};

/// Parts with arbitrary content: errors name nothing below them.
const OPEN: [&str; 4] = ["annotations", "extension", "fieldsV1", "labels"];

/// Why an object cannot have come from a hub.
const NAMELESS: &str = "metadata.name is missing";

/// Replaces a byte that is not UTF-8. An identity that contains it is not trusted.
pub(crate) const MASK: char = '?';

/// Reads a profile or a slice. The error names the part that does not fit.
pub(crate) fn tracked<T: Tracked>(json: &[u8]) -> Result<T, Box<Unreadable>> {
    let read: T = read(json).map_err(|message| unreadable(json, T::KIND, &message))?;
    if read.metadata().name.is_empty() {
        return Err(unreadable(json, T::KIND, NAMELESS));
    }
    Ok(read)
}

/// Reads a namespace. The error names the part that does not fit.
pub fn namespace(json: &[u8]) -> Result<Namespace, Box<Unreadable>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named {
        metadata: Option<Object<Metadata>>,
    }
    let refused = |message: &str| unreadable(json, "Namespace", message);
    let Named { metadata } = read(json).map_err(|message| refused(&message))?;
    let metadata = metadata.map(|metadata| metadata.0).unwrap_or_default();
    if metadata.name.is_empty() {
        return Err(refused(NAMELESS));
    }
    Ok(Namespace {
        name: metadata.name.to_string(),
        uid: metadata.uid.to_string(),
        resource_version: metadata.resource_version,
        labels: Arc::unwrap_or_clone(metadata.labels),
    })
}

/// Reads an object into any shape. The error names the part that does not fit.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    let read = serde_json::from_slice(json).map_err(|_| fault::<Object<T>>(json));
    read.map(|Object(object)| object)
}

/// Reads a parsed object into any shape. The error names the part that does not fit.
pub(crate) fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    let read = Object::deserialize(value).map_err(|error| narrowed::<Object<T>>(value, &error));
    read.map(|Object(object)| object)
}

fn unreadable(json: &[u8], kind: &str, message: &str) -> Box<Unreadable> {
    Box::new(Unreadable {
        object: identity(json, kind),
        message: message.to_owned(),
    })
}

fn fault<T: DeserializeOwned>(json: &[u8]) -> String {
    match serde_json::from_slice::<Value>(json) {
        Ok(value) => match T::deserialize(&value) {
            Err(error) => narrowed::<T>(&value, &error),
            // Only reading from text detects a repeated key.
            Ok(_) => "a key is repeated".to_owned(),
        },
        Err(error) => unparsable(json, &error),
    }
}

/// Describes why a text cannot be parsed.
pub fn unparsable(json: &[u8], error: &serde_json::Error) -> String {
    if std::str::from_utf8(json).is_err() {
        return "it is not UTF-8 text".to_owned();
    }
    let error = error.to_string();
    let texts = [
        ("recursion limit", "it nests too deep"),
        ("number out of range", "a number in it is out of range"),
        ("hex escape", "a text in it is not Unicode"),
    ];
    let texts = texts.iter().find(|(sign, _)| error.contains(sign));
    texts.map_or("it is not JSON", |(_, message)| message).to_owned()
}

/// Describes the smallest part that does not fit.
fn narrowed<T: DeserializeOwned>(value: &Value, error: &serde_json::Error) -> String {
    let refused = |part: Value| T::deserialize(part).err().map(|error| error.to_string());
    let (path, error) = narrow(value, &refused, String::new(), error.to_string());
    let mut fault = without_values(&error);
    // In YAML, an unquoted `True` or `1.31` is not a string.
    let is_unquoted = |kind: &&str| fault == format!("invalid type: {kind}, expected a string");
    if ["boolean", "integer", "floating point"].iter().any(is_unquoted) {
        fault += ": quote it";
    }
    if path.is_empty() {
        fault
    } else {
        format!("{path}: {fault}")
    }
}

/// Descends into the first part that is refused even on its own, while its surroundings fit.
fn narrow(
    value: &Value,
    refused: &dyn Fn(Value) -> Option<String>,
    path: String,
    error: String,
) -> (String, String) {
    let around = match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => return (path, error),
    };
    if refused(around).is_some() {
        return (path, error);
    }
    match value {
        Value::Object(map) if !OPEN.iter().any(|open| path.ends_with(open)) => {
            for (key, child) in map {
                let alone = |part: Value| refused(Value::Object(Map::from_iter([(key.clone(), part)])));
                if let Some(error) = alone(child.clone()) {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    return narrow(child, &alone, path, error);
                }
            }
        }
        Value::Array(items) => {
            let alone = |part: Value| refused(Value::Array(vec![part]));
            for (index, child) in items.iter().enumerate() {
                if let Some(error) = alone(child.clone()) {
                    return narrow(child, &alone, format!("{path}[{index}]"), error);
                }
            }
        }
        _ => {}
    }
    (path, error)
}

impl ObjectRef {
    /// Identifies an object, or what is readable of it. `kind` is the default.
    pub fn of_value(object: &Value, kind: &str) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            kind: object["kind"].as_str().unwrap_or(kind).to_owned(),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            resource_version: text(&metadata["resourceVersion"]),
        }
    }
}

/// Identifies an object, or what is readable of it, even in broken JSON. `kind` is the default.
pub fn identity(json: &[u8], kind: &str) -> ObjectRef {
    let whole = masked(json);
    let spoilt = matches!(whole, Cow::Owned(_));
    let object = parts(&whole);
    let metadata = parts(object.get("metadata").map(|raw| raw.get()).unwrap_or_default());
    let part = |key: &str| text(&metadata, key, spoilt).unwrap_or_default();
    ObjectRef {
        kind: text(&object, "kind", spoilt).unwrap_or_else(|| kind.to_owned()),
        namespace: part("namespace"),
        name: part("name"),
        uid: part("uid"),
        resource_version: part("resourceVersion"),
    }
}

/// A part that is a text; `None` if it contains masked bytes.
fn text(parts: &HashMap<String, &RawValue>, key: &str, spoilt: bool) -> Option<String> {
    let text: Option<String> = parts
        .get(key)
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    text.filter(|text| !(spoilt && text.contains(MASK)))
}

/// The unread parts of a JSON object; empty for anything else.
pub(crate) fn parts(json: &str) -> HashMap<String, &RawValue> {
    serde_json::from_str(json).unwrap_or_default()
}

/// The bytes as text. Each byte that is not UTF-8 is masked, so that all others keep their offsets.
pub fn masked(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| MASK));
    }
    Cow::Owned(text)
}

/// Removes what serde's message quotes of the input.
pub fn without_values(message: &str) -> String {
    let (found, expected) = match message.rfind(", expected ") {
        Some(at) => message.split_at(at),
        None => (message, ""),
    };
    match found.find(['"', '`']) {
        Some(quote) if !expected.is_empty() => format!("{}{expected}", found[..quote].trim_end()),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
