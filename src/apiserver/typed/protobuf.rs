//! Decodes protobuf, which clients send for built-in kinds: a magic number, an envelope, and in it the object. The
//! result is JSON.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    messages::{Kind, Message, known, message_of},
    wire::{Reader, Wire, WireError},
};
use crate::object::{
    json::{DecodeError, unrecognized},
    value::text,
};

/// The media type of a body in protobuf.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: [u8; 4] = *b"k8s\0";

/// Why bytes are no object.
#[derive(Debug, thiserror::Error)]
enum ProtobufError {
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    Prefix,
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("{name} is no JSON")]
    Json {
        name: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{seconds} seconds and {nanos} nanoseconds are no time")]
    Time { seconds: i64, nanos: i64 },
    #[error("{0} cannot be repeated")]
    Repeated(String),
}

/// Converts an envelope to JSON. `wanted` is the kind of an object that does not say its own.
pub(crate) fn to_json(body: &[u8], wanted: &str) -> Result<Bytes, DecodeError> {
    let (types, raw) = open(body).map_err(|why| unrecognized(wanted, &why.to_string(), body))?;
    // An object without a kind has the wanted one.
    let kind = match text(&types, "kind") {
        "" => wanted,
        kind => kind,
    };
    let api_version = text(&types, "apiVersion");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let cannot =
        |why: &str| format!("{kind} in version \"{version}\" cannot be handled as a {wanted}: {why}");
    let message = message_of(group, kind).ok_or_else(|| {
        cannot(&format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\""
        ))
    })?;
    let mut object = read(message, &raw).map_err(|why| cannot(&why.to_string()))?;
    let types = types.as_object().into_iter().flatten();
    object.extend(types.map(|(name, value)| (name.clone(), value.clone())));
    Ok(Value::Object(object).to_string().into())
}

/// Opens an envelope: the type of the object, and its bytes.
fn open(body: &[u8]) -> Result<(Value, Vec<u8>), ProtobufError> {
    let envelope = body.strip_prefix(&MAGIC).ok_or(ProtobufError::Prefix)?;
    let mut envelope = read(known("Unknown"), envelope)?;
    let raw = envelope.remove("raw").unwrap_or_default();
    let raw = STANDARD.decode(raw.as_str().unwrap_or_default());
    Ok((
        envelope.remove("typeMeta").unwrap_or_default(),
        raw.unwrap_or_default(),
    ))
}

/// Decodes the fields of a message; skips unknown ones.
fn read(message: &Message, bytes: &[u8]) -> Result<Map<String, Value>, ProtobufError> {
    let mut object = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.field()? {
        let Some(field) = message.fields.iter().find(|field| field.number == number) else {
            continue;
        };
        let name = field.name;
        match &field.kind {
            Kind::List(_, kind) => {
                let item = value(kind, name, wire)?;
                if let Value::Array(items) = object.entry(name).or_insert_with(|| json!([])) {
                    items.push(item);
                }
            }
            Kind::Map(kind) => {
                let (key, item) = entry(kind, name, wire)?;
                object.entry(name).or_insert_with(|| json!({}))[key] = item;
            }
            kind => _ = object.insert(name.to_owned(), value(kind, name, wire)?),
        }
    }
    Ok(object)
}

/// An entry of a map is a message with a key and a value.
fn entry(kind: &Kind, name: &str, wire: Wire<'_>) -> Result<(String, Value), ProtobufError> {
    let (mut key, mut item) = (String::new(), Value::Null);
    let mut reader = Reader(wire.bytes(name)?);
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => key = String::from_utf8_lossy(wire.bytes(name)?).into_owned(),
            2 => item = value(kind, name, wire)?,
            _ => {}
        }
    }
    Ok((key, item))
}

fn value(kind: &Kind, name: &str, wire: Wire<'_>) -> Result<Value, ProtobufError> {
    // A value that is one JSON value, and a message with one field in protobuf.
    let only = |message: &str| -> Result<Value, ProtobufError> {
        let fields = read(known(message), wire.bytes(name)?)?;
        Ok(fields.into_values().next().unwrap_or_default())
    };
    Ok(match kind {
        Kind::String => String::from_utf8_lossy(wire.bytes(name)?).into(),
        Kind::Bytes => STANDARD.encode(wire.bytes(name)?).into(),
        Kind::Bool => (wire.number(name)? != 0).into(),
        // Negative numbers are encoded as large ones.
        Kind::Int64 => wire.number(name)?.cast_signed().into(),
        Kind::Int32 => (wire.number(name)? as i32).into(),
        Kind::Time => time(wire.bytes(name)?, 0)?,
        Kind::MicroTime => time(wire.bytes(name)?, 6)?,
        Kind::Quantity => only("Quantity")?,
        Kind::Extra => only("Extra")?,
        Kind::FieldsV1 => {
            let raw = only("FieldsV1")?;
            serde_json::from_str(raw.as_str().unwrap_or_default()).map_err(|source| ProtobufError::Json {
                name: name.to_owned(),
                source,
            })?
        }
        Kind::Message(message) => read(known(message), wire.bytes(name)?)?.into(),
        Kind::List(..) | Kind::Map(_) => return Err(ProtobufError::Repeated(name.to_owned())),
    })
}

/// A time with this many decimals. An empty message is no time.
fn time(bytes: &[u8], decimals: usize) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let parts = read(known("Time"), bytes)?;
    let number = |name: &str| parts.get(name).and_then(Value::as_i64).unwrap_or_default();
    let (seconds, nanos) = (number("seconds"), number("nanos"));
    let time = i32::try_from(nanos).map(|nanos| Timestamp::new(seconds, nanos));
    match time {
        Ok(Ok(time)) => Ok(format!("{time:.decimals$}").into()),
        _ => Err(ProtobufError::Time { seconds, nanos }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::typed::decode;

    /// A field of a short message.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![
            number << 3 | 2,
            u8::try_from(content.len()).expect("a short field"),
        ];
        bytes.extend(content);
        bytes
    }

    fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let types = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &types), field(2, raw)].concat()
    }

    #[test]
    fn reads_a_secret() {
        let metadata = [
            field(1, b"s"),
            field(11, &[field(1, b"a"), field(2, b"b")].concat()),
        ]
        .concat();
        let data = [field(1, b"key"), field(2, &[0, 255])].concat();
        let immutable = [5 << 3, 1].to_vec();
        let body = envelope(
            "v1",
            "Secret",
            &[field(1, &metadata), field(2, &data), immutable].concat(),
        );
        let read: Value = serde_json::from_slice(&to_json(&body, "Secret").unwrap()).unwrap();
        assert_eq!(
            read,
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": {"a": "b"}},
                "data": {"key": "AP8="}, "immutable": true,
            })
        );
    }

    proptest! {
        /// Any bytes decode to an object or fail.
        #[test]
        fn nothing_is_too_strange(
            kind in prop::sample::select(vec!["Node", "Event", "Secret", "Lease", "ClusterRole"]),
            fields in prop::collection::vec((1..16u8, prop::collection::vec(any::<u8>(), 0..20)), 0..4),
            noise in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut raw: Vec<u8> = fields.iter().flat_map(|(number, content)| field(*number, content)).collect();
            raw.extend(noise);
            raw.truncate(127);
            if let Ok(json) = to_json(&envelope("v1", kind, &raw), kind) {
                let Value::Object(mut object) = serde_json::from_slice(&json).unwrap() else {
                    panic!("an object is read");
                };
                let message = message_of("", kind).unwrap();
                if let Ok(unknown) = decode(message, &mut object) {
                    prop_assert!(unknown.is_empty());
                }
            }
            prop_assert!(to_json(&raw, kind).is_err());
            let _ = to_json(&[&MAGIC, raw.as_slice()].concat(), kind);
        }
    }
}
