//! Reads JSON as the API server does: of a repeated field the last value counts. Where a field is read, a missing one, or
//! one of another type, is empty.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The text in a field.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The items of the list in a field.
pub(crate) fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

/// The texts of the list in a field.
pub(crate) fn texts<'a, T: From<&'a str>>(object: &'a Value, field: &str) -> Vec<T> {
    let texts = list(object, field).iter().filter_map(Value::as_str);
    texts.map(T::from).collect()
}

/// The fields of the object in a field.
pub(crate) fn fields<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object[field].as_object().into_iter().flatten()
}

/// True if a field is true.
pub(crate) fn flag(object: &Value, field: &str) -> bool {
    object[field] == true
}

/// Copies a field from another object, or removes it if the other has none.
pub(crate) fn take(object: &mut Value, field: &str, from: &Value) {
    let Value::Object(fields) = object else { return };
    match from.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// How many lists and maps may lie within each other: as deep as the parser of JSON reads.
pub(crate) const MAX_DEPTH: usize = 127;

/// Why a decoder refuses an object, in kube-apiserver's own words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DecodeError(String);

impl From<String> for DecodeError {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<DecodeError> for String {
    fn from(error: DecodeError) -> Self {
        error.0
    }
}

/// A parsed body.
#[derive(Debug)]
pub(crate) struct ParsedBody {
    pub(crate) value: Value,
    /// Complaints of a strict reader about repeated fields.
    pub(crate) repeated: Vec<String>,
}

/// Reads JSON, or YAML, which includes JSON. A field must not be repeated in YAML.
pub(crate) fn read(bytes: &[u8], is_yaml: bool) -> Result<ParsedBody, DecodeError> {
    let mut document: ParsedBody = match serde_json::from_slice(bytes) {
        Err(_) if is_yaml => {
            let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
            let value = serde_saphyr::from_slice_with_options(bytes, options);
            let value = value.map_err(|error| error.to_string())?;
            let repeated = Vec::new();
            return Ok(ParsedBody { value, repeated });
        }
        document => document.map_err(|error| error.to_string())?,
    };
    for path in &mut document.repeated {
        *path = format!("duplicate field \"{}\"", path.trim_start_matches('.'));
    }
    Ok(document)
}

/// The message about a body that is not an object of any kind.
pub(crate) fn unrecognized(kind: &str, why: &str) -> String {
    format!("the object provided is unrecognized (must be of type {kind}): {why}")
}

/// Reads a value, and the paths of repeated fields in it (`.a.b[0].c`).
impl<'de> Deserialize<'de> for ParsedBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

fn scalar<E>(value: impl Into<Value>) -> Result<ParsedBody, E> {
    Ok(ParsedBody {
        value: value.into(),
        repeated: Vec::new(),
    })
}

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = ParsedBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<ParsedBody, E> {
        scalar(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<ParsedBody, E> {
        scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<ParsedBody, E> {
        scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<ParsedBody, E> {
        scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<ParsedBody, E> {
        scalar(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<ParsedBody, E> {
        scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ParsedBody, A::Error> {
        let (mut list, mut repeated) = (Vec::new(), Vec::new());
        while let Some(item) = items.next_element::<ParsedBody>()? {
            let i = list.len();
            repeated.extend(item.repeated.iter().map(|path| format!("[{i}]{path}")));
            list.push(item.value);
        }
        let value = list.into();
        Ok(ParsedBody { value, repeated })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ParsedBody, A::Error> {
        let (mut map, mut repeated) = (Map::new(), Vec::new());
        while let Some((name, field)) = fields.next_entry::<String, ParsedBody>()? {
            if map.contains_key(&name) {
                repeated.push(format!(".{name}"));
            }
            repeated.extend(field.repeated.iter().map(|path| format!(".{name}{path}")));
            map.insert(name, field.value);
        }
        let value = map.into();
        Ok(ParsedBody { value, repeated })
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn refuses_what_follows_the_document() {
        assert!(read(b"{} {}", false).is_err());
    }
}
