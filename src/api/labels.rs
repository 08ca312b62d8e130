//! Labels, in little room: a map of a few short texts on each of 100,000 profiles.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Label keys and values.
pub type Labels = BTreeMap<String, String>;

/// The labels of a profile, sorted by key. A map would take several times the room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileLabels(Box<[(Arc<str>, Arc<str>)]>);

impl ProfileLabels {
    /// A label's value.
    pub fn get(&self, key: &str) -> Option<&str> {
        let place = self.0.binary_search_by(|(own, _)| (**own).cmp(key)).ok()?;
        Some(&self.0[place].1)
    }

    /// Whether there is such a label.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The same as a map.
    pub fn to_map(&self) -> Labels {
        self.iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// The texts, to be shared with those of other labels.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = (&mut Arc<str>, &mut Arc<str>)> {
        self.0.iter_mut().map(|(key, value)| (key, value))
    }

    /// The texts, for others to share.
    pub(super) fn shared(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        self.0.iter()
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(K, V)> for ProfileLabels {
    /// Of a key that comes more than once, the last value counts.
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

impl Serialize for ProfileLabels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for ProfileLabels {
    /// A value that is `null` is empty, as the hub takes it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let labels = BTreeMap::<Arc<str>, Option<Arc<str>>>::deserialize(deserializer)?;
        let labels = labels.into_iter();
        Ok(labels
            .map(|(key, value)| (key, value.unwrap_or_default()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
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
}
