//! Values of YAML as JSON.

use std::fmt::{self, Write as _};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

use crate::LARGEST_OBJECT;

/// The most bytes of an object of YAML whose aliases are expanded.
const LARGEST_EXPANDED: usize = 4 * LARGEST_OBJECT;

/// A value of any format as JSON. Numbers that JSON lacks are out of range in it, so that they spoil one object alone.
pub(super) struct Transcoded(pub String);

impl<'de> Deserialize<'de> for Transcoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = String::new();
        Transcode(&mut json).deserialize(deserializer)?;
        Ok(Self(json))
    }
}

struct Transcode<'j>(&'j mut String);

impl Transcode<'_> {
    fn put<E: serde::de::Error>(self, value: impl Into<Value>) -> Result<(), E> {
        if self.0.len() > LARGEST_EXPANDED {
            return Err(E::custom("an object that is too large with its aliases expanded"));
        }
        let _ = write!(self.0, "{}", value.into());
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Transcode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.put(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.put(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.put(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.put(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        if value.is_finite() {
            return self.put(value);
        }
        self.0.push_str("1e999");
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.put(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push('[');
        let start = self.0.len();
        while items.next_element_seed(Transcode(&mut *self.0))?.is_some() {
            self.0.push(',');
        }
        close(self.0, start, ']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.push('{');
        let start = self.0.len();
        while let Some(key) = map.next_key::<String>()? {
            Transcode(&mut *self.0).put(key)?;
            self.0.push(':');
            map.next_value_seed(Transcode(&mut *self.0))?;
            self.0.push(',');
        }
        close(self.0, start, '}');
        Ok(())
    }
}

/// Ends a list or an object that begins at `start`, in place of the last comma.
fn close(json: &mut String, start: usize, end: char) {
    if json.len() > start {
        json.pop();
    }
    json.push(end);
}
