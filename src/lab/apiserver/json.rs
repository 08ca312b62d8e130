//! JSON as the API server reads it: a field may stand twice, and the last one counts.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

/// What was read.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) value: Value,
    /// What a strict reader says of fields that stand twice.
    pub(super) repeated: Vec<String>,
}

/// Reads YAML, of which JSON is a part. The error is the reader's.
pub(super) fn read_yaml(bytes: &[u8]) -> Result<Document, String> {
    let twice = |line: u64, key: &str| format!("line {line}: key \"{key}\" already set in map");
    if let Ok(mut document) = read(bytes) {
        for complaint in &mut document.repeated {
            let path = complaint.trim_end_matches('"');
            *complaint = twice(1, path.rsplit(['.', '"']).next().unwrap_or_default());
        }
        return Ok(document);
    }
    let parse = |duplicate_keys| {
        let options = serde_saphyr::options! {
            duplicate_keys: duplicate_keys, legacy_octal_numbers: true, with_snippet: false
        };
        serde_saphyr::from_slice_with_options::<Value>(bytes, options)
    };
    let (value, repeated) = match parse(DuplicateKeyPolicy::Error) {
        Ok(value) => (value, Vec::new()),
        Err(serde_saphyr::Error::DuplicateMappingKey { key, location }) => {
            let value = parse(DuplicateKeyPolicy::LastWins).map_err(|error| error.to_string())?;
            (value, vec![twice(location.line(), &key.unwrap_or_default())])
        }
        Err(error) => return Err(error.to_string()),
    };
    Ok(Document { value, repeated })
}

/// What a strict reader of YAML says of fields that stand twice.
pub(super) fn yaml_error(repeated: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  "))
}

/// Reads a document.
pub(super) fn read(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    let repeated = RefCell::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = At {
        path: String::new(),
        repeated: &repeated,
    }
    .deserialize(&mut reader)?;
    reader.end()?;
    Ok(Document {
        value,
        repeated: repeated.into_inner(),
    })
}

/// A value at some path.
struct At<'a> {
    path: String,
    repeated: &'a RefCell<Vec<String>>,
}

impl At<'_> {
    fn at(&self, path: String) -> Self {
        At { path, ..*self }
    }
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            match items.next_element_seed(self.at(format!("{}[{}]", self.path, list.len())))? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let path = match self.path.as_str() {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            if map.contains_key(&name) {
                let complaint = format!("duplicate field \"{path}\"");
                self.repeated.borrow_mut().push(complaint);
            }
            map.insert(name, fields.next_value_seed(self.at(path))?);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tells_what_stands_twice_and_keeps_the_last() {
        let document = read(br#"{"a": {"b": [{"c": 1, "c": 2}], "d": 1.5}, "e": null, "e": "x"}"#).unwrap();
        assert_eq!(
            document.value,
            json!({"a": {"b": [{"c": 2}], "d": 1.5}, "e": "x"})
        );
        let twice = ["a.b[0].c", "e"].map(|path| format!("duplicate field \"{path}\""));
        assert_eq!(document.repeated, twice);
    }

    #[test]
    fn refuses_what_follows_the_document() {
        assert!(read(b"{} {}").is_err());
    }
}
