//! Labels and annotations in little memory: 100,000 profiles have a few each.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        Error, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::Value;

/// Label keys and values.
pub type Labels = BTreeMap<String, String>;

/// The labels or annotations of a profile, sorted by key. A map would take several times the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileLabels(Box<[(Arc<str>, Arc<str>)]>);

impl ProfileLabels {
    /// A label's value.
    pub fn get(&self, key: &str) -> Option<&str> {
        // Profiles have a few labels, of different lengths: a binary search would read the text of several keys.
        let (_, value) = self.0.iter().find(|(own, _)| **own == *key)?;
        Some(value)
    }

    /// Returns `true` if the label exists.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Converts them to a map.
    pub fn to_map(&self) -> Labels {
        self.iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// The texts, to be replaced by shared ones.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = (&mut Arc<str>, &mut Arc<str>)> {
        self.0.iter_mut().map(|(key, value)| (key, value))
    }

    /// The texts, for sharing.
    pub(super) fn shared(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.0.iter()
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(K, V)> for ProfileLabels {
    /// The last value of a repeated key counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let sorted: BTreeMap<Arc<str>, Arc<str>> = labels
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        Self(sorted.into_iter().collect())
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>, const N: usize> From<[(K, V); N]> for ProfileLabels {
    fn from(labels: [(K, V); N]) -> Self {
        labels.into_iter().collect()
    }
}

impl JsonSchema for ProfileLabels {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Labels::json_schema(generator)
    }
}

impl Serialize for ProfileLabels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for ProfileLabels {
    /// Reads a `null` value as empty, like the hub.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let labels = BTreeMap::<Arc<str>, Option<Arc<str>>>::deserialize(deserializer)?;
        let labels = labels.into_iter();
        Ok(labels
            .map(|(key, value)| (key, value.unwrap_or_default()))
            .collect())
    }
}

/// Reads annotations. A hub only has text; in a dump, a value without quotes is read as text, so that its profile is
/// not lost.
pub(super) fn annotations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<ProfileLabels>, D::Error> {
    let annotations: Option<BTreeMap<Arc<str>, Anything>> = Option::deserialize(deserializer)?;
    let texts = annotations
        .into_iter()
        .flatten()
        .map(|(key, value)| (key, value.0));
    Ok(Arc::new(texts.collect()))
}

/// A text, or any other value as text.
struct Anything(Arc<str>);

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnythingVisitor)
    }
}

struct AnythingVisitor;

impl<'de> Visitor<'de> for AnythingVisitor {
    type Value = Anything;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Anything, E> {
        Ok(Anything(text.into()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Anything, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Anything, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Anything, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Anything, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<Anything, E> {
        self.visit_str("")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Anything, A::Error> {
        let value = Value::deserialize(SeqAccessDeserializer::new(seq))?;
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Anything, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(map))?;
        self.visit_str(&value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn are_a_map() {
        let labels: ProfileLabels =
            serde_json::from_str(r#"{"b": "2", "a": "1", "b": "3"}"#).expect("labels");
        assert_eq!(
            (labels.get("b"), labels.get("c"), labels.iter().count()),
            (Some("3"), None, 2)
        );
        assert_eq!(
            serde_json::to_string(&labels).expect("text"),
            r#"{"a":"1","b":"3"}"#
        );
        assert_eq!(labels, ProfileLabels::from([("b", "3"), ("a", "1")]));
        assert!(serde_json::from_str::<Labels>(r#"{"a": 1}"#).is_err());
    }

    #[test]
    fn an_annotation_without_its_quotes_is_text_all_the_same() {
        let read = |value: Value| annotations(value).expect("annotations");
        let odd = json!({"a": "x", "b": 1, "c": -2.5, "d": true, "e": null, "f": ["y"], "g": {"h": 1}});
        let texts = [
            ("a", "x"),
            ("b", "1"),
            ("c", "-2.5"),
            ("d", "true"),
            ("e", ""),
            ("f", r#"["y"]"#),
            ("g", r#"{"h":1}"#),
        ];
        assert_eq!(*read(odd), ProfileLabels::from(texts));
        assert_eq!(*read(Value::Null), ProfileLabels::default());
        assert!(annotations(json!("x")).is_err());
    }
}
