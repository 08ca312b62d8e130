//! Decodes JSON as Go's decoder does into typed objects.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use regex::Regex;
use serde_json::{Map, Value};

use super::{
    messages::{Field, Kind, Merge, Message, Told, known},
    quantity::{self, NoQuantity},
};
use crate::object::{
    field::{Path, quoted},
    json::DecodeError,
};

type Fields = Map<String, Value>;

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d)(\.\d+)?(?:Z|[+-]\d\d:\d\d)$";
    Regex::new(pattern).expect("constant pattern")
});
/// List indexes and map keys in a path. Errors do not name them.
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[[^\]]*\]").expect("constant pattern"));

/// Decodes an object as `message`. Returns the paths of unknown fields.
pub(crate) fn decode(message: &Message, object: &mut Fields) -> Result<Vec<String>, DecodeError> {
    let types = ["apiVersion", "kind"].map(|name| object.remove_entry(name));
    let mut decoder = Decoder::default();
    *object = decoder.fields(message, std::mem::take(object), &Path::ROOT)?;
    object.extend(types.into_iter().flatten());
    decoder.unknown.sort();
    Ok(decoder.unknown)
}

/// Decodes the metadata of an object of any kind, and adds it if missing.
pub(crate) fn coerce_metadata(object: &mut Fields) -> Result<Vec<String>, DecodeError> {
    let mut decoder = Decoder::default();
    let kind = Kind::Message("ObjectMeta");
    let metadata = object.remove("metadata").unwrap_or_default();
    let metadata = decoder.item(&kind, metadata, "ObjectMeta", &Path::ROOT)?;
    object.insert("metadata".to_owned(), metadata);
    let unknown = decoder.unknown.iter();
    Ok(unknown.map(|path| format!("metadata.{path}")).collect())
}

/// The zero value of a message.
pub(crate) fn zero(message: &Message) -> Value {
    let fields = message.fields.iter().filter(|field| field.told == Told::Always);
    let fields = fields.map(|field| (field.name.to_owned(), zero_of(&field.kind)));
    Value::Object(fields.collect())
}

fn zero_of(kind: &Kind) -> Value {
    match kind {
        Kind::String => "".into(),
        Kind::Int32 | Kind::Int64 => 0.into(),
        Kind::Bool => false.into(),
        Kind::Quantity => "0".into(),
        Kind::Message(name) => zero(known(name)),
        _ => Value::Null,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// The decoder's message about a value of the wrong type. `within` is the type that has the field.
fn mismatch(value: &Value, wanted: &Kind, within: &str, path: &Path<'_>) -> String {
    let seen = match value {
        Value::Number(number) if matches!(wanted, Kind::Int32 | Kind::Int64) => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    let (path, wanted) = (path.to_string(), go_type(wanted));
    let (within, names) = (within.trim_start_matches("events."), PLACE.replace_all(&path, ""));
    format!("json: cannot unmarshal {seen} into Go struct field {within}.{names} of type {wanted}")
}

fn go_type(kind: &Kind) -> String {
    match kind {
        Kind::Int32 => "int32".to_owned(),
        Kind::Int64 => "int64".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Bytes => "[]uint8".to_owned(),
        Kind::Extra => "v1.ExtraValue".to_owned(),
        Kind::Message(name) => format!("v1.{}", name.trim_start_matches("events.")),
        Kind::List(_, items) => format!("[]{}", go_type(items)),
        Kind::Map(values) => format!("map[string]{}", go_type(values)),
        Kind::String | Kind::Time | Kind::MicroTime | Kind::Quantity | Kind::FieldsV1 => "string".to_owned(),
    }
}

type Decoded = Result<Value, DecodeError>;

impl From<NoQuantity> for DecodeError {
    fn from(error: NoQuantity) -> Self {
        error.to_string().into()
    }
}

#[derive(Default)]
struct Decoder {
    unknown: Vec<String>,
}

impl Decoder {
    fn fields(
        &mut self,
        message: &Message,
        mut sent: Fields,
        path: &Path<'_>,
    ) -> Result<Fields, DecodeError> {
        let mut kept = Map::new();
        for Field { name, told, kind } in &message.fields {
            let value = match sent.remove(*name) {
                None | Some(Value::Null) => Value::Null,
                Some(value) => self.value(kind, value, message.name, &path.child(name))?,
            };
            let value = match told {
                Told::Always if value.is_null() => zero_of(kind),
                Told::WhenSent if value.is_null() => continue,
                Told::UnlessEmpty if is_empty(&value) => continue,
                Told::Always | Told::WhenSent | Told::UnlessEmpty => value,
            };
            kept.insert((*name).to_owned(), value);
        }
        self.unknown
            .extend(sent.keys().map(|name| path.child(name).to_string()));
        Ok(kept)
    }

    /// Decodes a value in a field of the type `within`.
    fn value(&mut self, kind: &Kind, value: Value, within: &str, path: &Path<'_>) -> Decoded {
        match (kind, value) {
            (Kind::String, value @ Value::String(_))
            | (Kind::Bool, value @ Value::Bool(_))
            | (Kind::FieldsV1, value) => Ok(value),
            (Kind::Int64, Value::Number(number)) if number.is_i64() => Ok(number.into()),
            (Kind::Int32, Value::Number(number))
                if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
            {
                Ok(number.into())
            }
            (Kind::Bytes, Value::String(text)) => bytes(&text),
            (Kind::Time, Value::String(text)) => time(&text, ""),
            (Kind::MicroTime, Value::String(text)) => time(&text, ".000000"),
            (Kind::Quantity, Value::String(text)) => Ok(quantity::canonical(text.trim())?.into()),
            (Kind::Quantity, Value::Number(number)) => Ok(quantity::canonical(&number.to_string())?.into()),
            (Kind::Extra, value) => {
                let texts = Kind::List(Merge::Atomic, Box::new(Kind::String));
                self.value(&texts, value, within, path)
            }
            (Kind::List(_, kind), Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                items
                    .map(|(i, item)| self.item(kind, item, within, &path.index(i)))
                    .collect()
            }
            (Kind::Map(kind), Value::Object(mut fields)) => {
                for (key, value) in &mut fields {
                    *value = self.item(kind, value.take(), within, &path.key(key))?;
                }
                Ok(fields.into())
            }
            (Kind::Message(name), Value::Object(fields)) => {
                self.fields(known(name), fields, path).map(Value::Object)
            }
            (kind, value) => Err(mismatch(&value, kind, within, path).into()),
        }
    }

    /// In lists and maps, null decodes as the zero value.
    fn item(&mut self, kind: &Kind, value: Value, within: &str, path: &Path<'_>) -> Decoded {
        match value {
            Value::Null => Ok(zero_of(kind)),
            value => self.value(kind, value, within, path),
        }
    }
}

fn bytes(text: &str) -> Decoded {
    let text = text.replace(['\r', '\n'], "");
    let bytes = STANDARD.decode(&text).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) => at,
            _ => text.len().saturating_sub(text.len() % 4),
        };
        format!("illegal base64 data at input byte {at}")
    })?;
    Ok(STANDARD.encode(bytes).into())
}

/// Parses a time with exactly this many decimals. With none, drops all decimals.
fn time(text: &str, decimals: &str) -> Decoded {
    let cannot = |rest: &str, what: &str| {
        let (text, rest) = (quoted(text), quoted(rest));
        format!(
            "parsing time {text} as \"2006-01-02T15:04:05{decimals}Z07:00\": cannot parse {rest} as \"{what}\""
        )
    };
    let parts = TIME.captures(text).ok_or_else(|| cannot(text, "2006"))?;
    let (seconds, fraction) = (&parts[1], parts.get(2).map_or("", |fraction| fraction.as_str()));
    if !decimals.is_empty() && fraction.len() != decimals.len() {
        return Err(cannot(&text[seconds.len()..], decimals).into());
    }
    let time: Timestamp = text.parse().map_err(|_| cannot(text, "2006"))?;
    let precision = decimals.len().saturating_sub(1);
    Ok(format!("{time:.precision$}").into())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::typed::message_of;

    #[rstest]
    #[case("2026-11-20T12:00:00.5+02:00", Some("2026-11-20T10:00:00Z"))]
    #[case("2026-11-20T10:00:00Z", Some("2026-11-20T10:00:00Z"))]
    #[case("", None)]
    #[case("2026-11-20", None)]
    #[case("2026-11-20 10:00:00Z", None)]
    #[case("2026-11-20T10:00:60Z", None)]
    #[case("2026-11-20T10:00:00+0200", None)]
    #[case("2026-11-20T10:00:00Z[UTC]", None)]
    fn times_are_read_strictly(#[case] sent: &str, #[case] told: Option<&str>) {
        assert_eq!(time(sent, "").ok(), told.map(Value::from));
    }

    /// Empty fields are omitted, or written as zero values, as the table says.
    #[test]
    fn an_empty_node_tells_what_go_does() {
        let Value::Object(mut node) = json!({
            "kind": "Node", "spec": {"unschedulable": false, "taints": [], "color": "red"},
            "status": {"conditions": [{"type": "Ready", "shape": 1}]},
        }) else {
            unreachable!("it is an object");
        };
        let message = message_of("", "Node").unwrap();
        assert_eq!(
            decode(message, &mut node).unwrap(),
            ["spec.color", "status.conditions[0].shape"]
        );
        assert_eq!(node["kind"], "Node");
        assert_eq!(node["spec"], json!({}));
        assert_eq!(
            node["status"]["daemonEndpoints"],
            json!({"kubeletEndpoint": {"Port": 0}})
        );
        assert_eq!(
            node["status"]["conditions"],
            json!([{"type": "Ready", "status": "", "lastHeartbeatTime": null, "lastTransitionTime": null}])
        );
    }
}
