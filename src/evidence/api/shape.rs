//! How objects are read leniently, how their versions share the parts that did not change, and JSON within them: extensions, and
//! lists in the values of properties, which the CRD stores as strings.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
    ser::Error as _,
};
use serde_json::Value;

/// A value in braces: derived serde implementations also accept a list, with the fields in order.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Braces<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Braces<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Object<T>, M::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Braces(PhantomData))
    }
}

/// Reads an object. Absent and `null` mean empty.
pub(super) fn object_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(object_or_none(deserializer)?.unwrap_or_default())
}

pub(super) fn object_or_none<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let object = Option::<Object<T>>::deserialize(deserializer)?;
    Ok(object.map(|object| object.0))
}

/// Reads a list of objects. Absent and `null` mean empty.
pub(super) fn objects_or_default<'de, D, T, L>(deserializer: D) -> Result<L, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
    L: FromIterator<T>,
{
    let objects = Option::<Vec<Object<T>>>::deserialize(deserializer)?;
    let objects = objects.unwrap_or_default().into_iter();
    Ok(objects.map(|object| object.0).collect())
}

/// Reads absent and `null` as the default.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Returns `true` for what need not be written, as absent means the same.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn share<T: PartialEq + ?Sized>(own: &mut Arc<T>, previous: &Arc<T>) {
    if own == previous {
        *own = Arc::clone(previous);
    }
}

pub(crate) fn share_some<T: PartialEq + ?Sized>(own: &mut Option<Arc<T>>, previous: &Option<Arc<T>>) {
    if own == previous {
        own.clone_from(previous);
    }
}

/// Shares the whole list, or its equal entries.
pub(super) fn share_list<T: PartialEq>(own: &mut Arc<[T]>, previous: &Arc<[T]>, entry: impl Fn(&mut T, &T)) {
    share(own, previous);
    // `None` if it is already shared.
    let entries = Arc::get_mut(own).into_iter().flatten();
    entries
        .zip(previous.iter())
        .for_each(|(own, previous)| entry(own, previous));
}

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
