//! Reads a profile and its kind in one pass: nearly all objects of a large dump are profiles.
//!
//! It is a shortcut for speed alone: what it takes, [`Tracked::read`](crate::Tracked::read) reads alike, as lists of a hub
//! are, and what it leaves is read by that. Without it, an item is passed over three times (as a value, for its kind, as a
//! profile), and reading 10,000 profiles takes a third longer; the kind first and then `read` take a fifth longer.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error as _, MapAccess, Visitor,
        value::{CowStrDeserializer, MapAccessDeserializer},
    },
};

use crate::api::{ClusterProfile, list::Text, names};

/// The profile that a text holds; `None` if it is anything else, or flawed in any way.
pub(super) fn profile(json: &str) -> Option<ClusterProfile> {
    let Typed { kind, profile } = serde_json::from_str(json).ok()?;
    let (group, _) = profile.api_version.rsplit_once('/')?;
    let is_profile = kind.as_deref() == Some(names::KIND) && group == names::GROUP;
    (is_profile && !profile.metadata.name.is_empty()).then_some(profile)
}

struct Typed<'a> {
    kind: Option<Cow<'a, str>>,
    profile: ClusterProfile,
}

impl<'de> Deserialize<'de> for Typed<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Braces;

        impl<'de> Visitor<'de> for Braces {
            type Value = Typed<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Typed<'de>, M::Error> {
                let mut kind = None;
                let rest = WithoutKind { map, kind: &mut kind };
                let profile = ClusterProfile::deserialize(MapAccessDeserializer::new(rest))?;
                Ok(Typed { kind, profile })
            }
        }

        deserializer.deserialize_map(Braces)
    }
}

/// A map of which the entry `kind` is taken out.
struct WithoutKind<'a, 'de, M> {
    map: M,
    kind: &'a mut Option<Cow<'de, str>>,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for WithoutKind<'_, 'de, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, M::Error> {
        while let Some(Text(key)) = self.map.next_key::<Text<'de>>()? {
            if key != "kind" {
                return seed.deserialize(CowStrDeserializer::new(key)).map(Some);
            }
            if self.kind.is_some() {
                return Err(M::Error::duplicate_field("kind"));
            }
            *self.kind = Some(self.map.next_value::<Text<'de>>()?.0);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tracked as _, lenient::Untyped};

    #[test]
    fn only_a_flawless_profile_is_taken() {
        let text = r#"{"status": {}, "kind": "ClusterProfile", "metadata": {"name": "a"}, "other": [{"kind": 1}],
            "apiVersion": "multicluster.x-k8s.io/v1alpha1"}"#;
        let profile = super::profile(text).expect("a profile");
        let read = ClusterProfile::read(Untyped::Text(text.as_bytes()));
        assert_eq!(
            read.expect("a profile"),
            profile,
            "a list's reader takes it for another"
        );
        for (part, other) in [
            ("ClusterProfile\"", "Namespace\""),
            ("multicluster", "other"),
            ("\"a\"", "\"\""),
            ("\"a\"", "1"),
            ("\"other\"", "\"kind\""),
            ("\"other\"", "\"status\""),
            ("\"kind\": \"", "\"kinds\": \""),
            ("]", "],"),
        ] {
            let changed = text.replacen(part, other, 1);
            assert_ne!(changed, text);
            assert!(super::profile(&changed).is_none(), "{changed}");
        }
    }
}
