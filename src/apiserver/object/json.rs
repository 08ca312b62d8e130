//! JSON as the API server reads it: a field may stand twice, and the last one counts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

/// What was read.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// What a strict reader says of fields that stand twice.
    pub(crate) repeated: Vec<String>,
}

/// Reads a document in JSON, or in YAML, of which JSON is a part. The error is the reader's.
pub(crate) fn read(bytes: &[u8], is_yaml: bool) -> Result<Document, String> {
    if is_yaml {
        return read_yaml(bytes);
    }
    let mut document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    for path in &mut document.repeated {
        *path = format!("duplicate field \"{}\"", path.trim_start_matches('.'));
    }
    Ok(document)
}

fn read_yaml(bytes: &[u8]) -> Result<Document, String> {
    let twice = |line: u64, key: &str| format!("line {line}: key \"{key}\" already set in map");
    if let Ok(mut document) = serde_json::from_slice::<Document>(bytes) {
        for path in &mut document.repeated {
            *path = twice(1, path.rsplit('.').next().unwrap_or_default());
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

/// The refusal of a body in which nothing is recognized, with its beginning.
pub(crate) fn unrecognized(wanted: &str, why: &str, body: &[u8]) -> String {
    let start = &body[..body.len().min(30)];
    let shown = match start {
        [] => "<empty>".into(),
        [b'{', ..] => String::from_utf8_lossy(start),
        _ => start.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let more = if body.len() > start.len() { " ..." } else { "" };
    format!("the object provided is unrecognized (must be of type {wanted}): {why} ({shown}{more})")
}

/// Reads a value, and the paths of the fields below it that stand twice (`.a.b[0].c`).
impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

fn scalar<E>(value: impl Into<Value>) -> Result<Document, E> {
    Ok(Document {
        value: value.into(),
        repeated: Vec::new(),
    })
}

impl<'de> Visitor<'de> for Reader {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Document, E> {
        scalar(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Document, E> {
        scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Document, E> {
        scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Document, E> {
        scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Document, E> {
        scalar(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Document, E> {
        scalar(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
        let (mut list, mut repeated) = (Vec::new(), Vec::new());
        while let Some(item) = items.next_element::<Document>()? {
            let i = list.len();
            repeated.extend(item.repeated.iter().map(|path| format!("[{i}]{path}")));
            list.push(item.value);
        }
        let value = list.into();
        Ok(Document { value, repeated })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Document, A::Error> {
        let (mut map, mut repeated) = (Map::new(), Vec::new());
        while let Some((name, field)) = fields.next_entry::<String, Document>()? {
            if map.contains_key(&name) {
                repeated.push(format!(".{name}"));
            }
            repeated.extend(field.repeated.iter().map(|path| format!(".{name}{path}")));
            map.insert(name, field.value);
        }
        let value = map.into();
        Ok(Document { value, repeated })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_what_stands_twice_and_keeps_the_last() {
        let document = read(
            br#"{"a": {"b": [{"c": 1, "c": 2}], "d": 1.5}, "e": null, "e": "x"}"#,
            false,
        )
        .unwrap();
        assert_eq!(
            document.value,
            json!({"a": {"b": [{"c": 2}], "d": 1.5}, "e": "x"})
        );
        let twice = ["a.b[0].c", "e"].map(|path| format!("duplicate field \"{path}\""));
        assert_eq!(document.repeated, twice);
    }

    #[test]
    fn refuses_what_follows_the_document() {
        assert!(read(b"{} {}", false).is_err());
    }
}
