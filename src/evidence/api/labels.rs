//! Labels and annotations in little memory: 100,000 profiles have a few each.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        Error, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::Value;

use super::list::Text;

/// Label keys and values.
pub type Labels = BTreeMap<String, String>;

/// The labels or annotations of a profile, sorted by key. A map, or a text for each, would take twice the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileLabels {
    /// All keys and values, one behind the other.
    text: Box<str>,
    /// Where each key ends, and its value.
    ends: Box<[(u32, u32)]>,
}

impl ProfileLabels {
    /// A label's value.
    pub fn get(&self, key: &str) -> Option<&str> {
        // Profiles have a few labels, of different lengths: a binary search would read the text of several keys.
        let (_, value) = self.iter().find(|(own, _)| *own == key)?;
        Some(value)
    }

    /// Returns `true` if the label exists.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.ends.len()).map(|index| self.at(index))
    }

    /// Converts them to a map.
    pub fn to_map(&self) -> Labels {
        self.iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn at(&self, index: usize) -> (&str, &str) {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before].1 as usize);
        let (key, value) = (self.ends[index].0 as usize, self.ends[index].1 as usize);
        (&self.text[start..key], &self.text[key..value])
    }
}

/// Labels while they are gathered, in any order.
#[derive(Default)]
struct Gathered {
    text: String,
    ends: Vec<(u32, u32)>,
}

impl Gathered {
    fn push(&mut self, key: &str, value: &str) {
        let end = |text: &String| u32::try_from(text.len()).expect("an object is far smaller than 4 GiB");
        self.text.push_str(key);
        let key = end(&self.text);
        self.text.push_str(value);
        self.ends.push((key, end(&self.text)));
    }

    /// Sorts them. The last value of a repeated key counts.
    fn finish(self) -> ProfileLabels {
        let labels = ProfileLabels {
            text: self.text.into(),
            ends: self.ends.into(),
        };
        // A hub sends them sorted.
        if labels.iter().is_sorted_by(|(one, _), (next, _)| one < next) {
            return labels;
        }
        let sorted: BTreeMap<&str, &str> = labels.iter().collect();
        let mut gathered = Self::default();
        sorted
            .into_iter()
            .for_each(|(key, value)| gathered.push(key, value));
        gathered.finish()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for ProfileLabels {
    /// The last value of a repeated key counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let mut gathered = Gathered::default();
        for (key, value) in labels {
            gathered.push(key.as_ref(), value.as_ref());
        }
        gathered.finish()
    }
}

impl<K: AsRef<str>, V: AsRef<str>, const N: usize> From<[(K, V); N]> for ProfileLabels {
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
        deserializer.deserialize_map(Entries::<TextOrNull<'de>>(PhantomData))
    }
}

/// Reads annotations. A hub only has text; in a dump, a value without quotes is read as text, so that its profile is
/// not lost.
pub(super) fn annotations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<ProfileLabels>, D::Error> {
    let annotations: Option<Annotations> = Option::deserialize(deserializer)?;
    Ok(Arc::new(annotations.unwrap_or_default().0))
}

#[derive(Default)]
struct Annotations(ProfileLabels);

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(Entries::<Anything<'de>>(PhantomData))
            .map(Self)
    }
}

/// Reads a map whose values are `V`.
struct Entries<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de> + Into<Cow<'de, str>>> Visitor<'de> for Entries<V> {
    type Value = ProfileLabels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ProfileLabels, A::Error> {
        let mut gathered = Gathered::default();
        while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
            gathered.push(&key, &map.next_value::<V>()?.into());
        }
        Ok(gathered.finish())
    }
}

/// A text, or `null` for an empty one.
struct TextOrNull<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for TextOrNull<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<Text<'de>>::deserialize(deserializer)?;
        Ok(Self(text.map(|text| text.0).unwrap_or_default()))
    }
}

impl<'a> From<TextOrNull<'a>> for Cow<'a, str> {
    fn from(text: TextOrNull<'a>) -> Self {
        text.0
    }
}

impl<'a> From<Anything<'a>> for Cow<'a, str> {
    fn from(text: Anything<'a>) -> Self {
        text.0
    }
}

/// A text, or any other value as text.
struct Anything<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Anything<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnythingVisitor)
    }
}

struct AnythingVisitor;

impl<'de> Visitor<'de> for AnythingVisitor {
    type Value = Anything<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Anything<'de>, E> {
        Ok(Anything(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Anything<'de>, E> {
        Ok(Anything(Cow::Borrowed(text)))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Anything<'de>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Anything<'de>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Anything<'de>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Anything<'de>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<Anything<'de>, E> {
        self.visit_str("")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Anything<'de>, A::Error> {
        let value = Value::deserialize(SeqAccessDeserializer::new(seq))?;
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Anything<'de>, A::Error> {
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
        for refused in [r#"{"a": 1}"#, r#"["a"]"#, "7"] {
            assert!(
                serde_json::from_str::<ProfileLabels>(refused).is_err(),
                "{refused}"
            );
        }
        let empty = serde_json::from_str::<ProfileLabels>(r#"{"a": null, "": "é", "\u00e9\n": ""}"#);
        assert_eq!(
            empty.expect("labels"),
            ProfileLabels::from([("", "é"), ("a", ""), ("é\n", "")])
        );
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
