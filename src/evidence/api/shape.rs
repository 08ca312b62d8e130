//! How objects are read leniently, how their versions share equal parts, and JSON within them.

use std::{fmt, marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
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
pub(super) fn object_or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(object_or_none(deserializer)?.unwrap_or_default())
}

pub(super) fn object_or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
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

pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Returns `true` for what need not be written, as absent means the same.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn share<T: PartialEq + ?Sized>(new: &mut Arc<T>, previous: &Arc<T>) {
    if new == previous {
        *new = Arc::clone(previous);
    }
}

pub(crate) fn share_some<T: PartialEq + ?Sized>(new: &mut Option<Arc<T>>, previous: &Option<Arc<T>>) {
    if new == previous {
        new.clone_from(previous);
    }
}

/// Shares the whole list, or its equal entries.
pub(super) fn share_list<T: PartialEq>(new: &mut Arc<[T]>, previous: &Arc<[T]>, entry: impl Fn(&mut T, &T)) {
    share(new, previous);
    // `None` if it is already shared.
    let entries = Arc::get_mut(new).into_iter().flatten();
    entries
        .zip(previous.iter())
        .for_each(|(new, previous)| entry(new, previous));
}

/// A JSON value as text with sorted keys: a tree would take ten times the memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
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
        Self::from(Value::Null)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        json.value()
    }
}

/// The strings of a JSON list; `None` for anything else.
pub fn strings(value: &str) -> Option<Vec<String>> {
    serde_json::from_str(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_value_that_was_read() {
        let text = r#"{"a":{},"b":[1,null,"é\n"]}"#;
        let read: Json = serde_json::from_str(r#"{"b": [1, null, "é\n"], "a": {}}"#).expect("any value");
        assert_eq!(read.text(), text);
        assert_eq!(serde_json::to_string(&read).expect("writes"), text);
        assert_eq!(Json::default().value(), Value::Null);
    }

    #[test]
    fn only_lists_of_strings_are_read() {
        let expected = Some(vec!["a".to_owned(), "b\n".to_owned()]);
        assert_eq!(strings(" [ \"a\", \"b\\n\" ] \n"), expected);
        assert_eq!(strings("[]"), Some(Vec::new()));
        let texts = r#"a|"a"|a,b|[a]|['a']|["a",1]|["a"|{"a":"b"}|["a"]]|"#;
        for text in texts.split('|') {
            assert_eq!(strings(text), None, "{text}");
        }
    }
}
