//! Documents of YAML as JSON.

use std::{
    fmt::{self, Write as _},
    iter,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Error, NonFiniteFloatPolicy, Spanned};

use super::source::line_breaks;
use crate::LARGEST_OBJECT;

/// The most bytes of a document as JSON, with its aliases expanded.
const LARGEST_EXPANDED: usize = 16 * LARGEST_OBJECT;

/// How deep the items of a list are: a document is a list, or an object with one.
const ITEMS: usize = 1;

/// A document of YAML as JSON, in which the items of a list begin on the same lines. Like kubectl, it takes only `true`
/// and `false` for booleans. Numbers that JSON lacks are out of range in it, so that they spoil one object alone.
pub(super) fn transcode(document: &str) -> Result<String, Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        // A snippet would show values, which may be secrets.
        with_snippet: false,
        emit_comments: false,
        // The size of the document is bounded.
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
        },
    };
    serde_saphyr::with_deserializer_from_str_with_options(document, options, |deserializer| {
        let mut json = String::new();
        Transcode {
            json: &mut json,
            depth: 0,
        }
        .deserialize(deserializer)?;
        Ok(json)
    })
}

/// An item of a list as JSON.
struct Item(String);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = String::new();
        let depth = ITEMS + 1;
        Transcode {
            json: &mut json,
            depth,
        }
        .deserialize(deserializer)?;
        Ok(Self(json))
    }
}

struct Transcode<'j> {
    json: &'j mut String,
    depth: usize,
}

impl Transcode<'_> {
    fn put<E: serde::de::Error>(self, value: impl Into<Value>) -> Result<(), E> {
        let _ = write!(self.json, "{}", value.into());
        check_size(self.json.len())
    }

    fn inner(&mut self) -> Transcode<'_> {
        Transcode {
            json: &mut *self.json,
            depth: self.depth + 1,
        }
    }

    /// Adds the items of a list, each on its line.
    fn put_items<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        let mut line = line_breaks(self.json) + 1;
        while let Some(item) = items.next_element::<Spanned<Item>>()? {
            let breaks = (item.referenced.line() as usize).saturating_sub(line);
            line += breaks;
            check_size(self.json.len() + breaks + item.value.0.len())?;
            self.json.extend(iter::repeat_n('\n', breaks));
            self.json.push_str(&item.value.0);
            self.json.push(',');
        }
        Ok(())
    }
}

fn check_size<E: serde::de::Error>(size: usize) -> Result<(), E> {
    if size > LARGEST_EXPANDED {
        return Err(E::custom(
            "a document that is too large with its aliases expanded",
        ));
    }
    Ok(())
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
        self.json.push_str("1e999");
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.put(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.json.push('[');
        let start = self.json.len();
        if self.depth <= ITEMS {
            self.put_items(items)?;
        } else {
            while items.next_element_seed(self.inner())?.is_some() {
                self.json.push(',');
            }
        }
        close(self.json, start, ']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.json.push('{');
        let start = self.json.len();
        while let Some(key) = map.next_key::<String>()? {
            self.inner().put(key)?;
            self.json.push(':');
            map.next_value_seed(self.inner())?;
            self.json.push(',');
        }
        close(self.json, start, '}');
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
