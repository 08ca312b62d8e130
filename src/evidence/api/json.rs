//! JSON within objects: extensions, and lists in the values of properties, which the CRD stores as strings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::Value;

/// A JSON value as text with sorted keys: a tree would take ten times the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(Box<str>);

impl Json {
    /// Its text: sorted keys, no white space between them.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The value.
    pub fn value(&self) -> Value {
        // The text was serialized from a value.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Default for Json {
    fn default() -> Self {
        Self("null".into())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: Value = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl JsonSchema for Json {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&Value::deserialize(deserializer)?))
    }
}

/// A string that borrows from the JSON if possible (`Cow` alone never does).
#[derive(Deserialize)]
pub struct Text<'a>(
    /// The string.
    #[serde(borrow)]
    pub Cow<'a, str>,
);

/// The strings of a JSON list; `None` for anything else.
pub fn strings(value: &str) -> Option<Vec<Cow<'_, str>>> {
    let list: Vec<Text> = serde_json::from_str(value).ok()?;
    Some(list.into_iter().map(|text| text.0).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn is_the_value_that_it_was_read_from() {
        let value = json!({"b": [1, null, "é\n"], "a": {}});
        let read: Json = serde_json::from_value(value.clone()).expect("any value");
        assert_eq!(read.text(), r#"{"a":{},"b":[1,null,"é\n"]}"#);
        assert_eq!(read.value(), value);
        assert_eq!(serde_json::to_value(&read).expect("writes"), value);
        let in_another_order = serde_json::from_str(r#"{"a": {}, "b": [1, null, "é\n"]}"#);
        assert_eq!(read, in_another_order.expect("reads"));
        assert_eq!(Json::default().value(), Value::Null);
    }

    #[test]
    fn only_lists_of_strings_are_read() {
        assert_eq!(
            strings(" [ \"a\", \"b\\n\" ] \n"),
            Some(vec!["a".into(), "b\n".into()])
        );
        assert_eq!(strings("[]"), Some(Vec::new()));
        for other in [
            "",
            "a",
            "\"a\"",
            "a,b",
            "[a]",
            "['a']",
            "[\"a\",1]",
            "[\"a\"",
            "{\"a\":\"b\"}",
            "[\"a\"]]",
        ] {
            assert_eq!(strings(other), None, "{other}");
        }
    }
}
