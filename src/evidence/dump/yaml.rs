//! Turns a document of YAML into JSON.

use std::fmt::{self, Write as _};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Spanned};

use super::document::syntax;
use crate::{InputError, LARGEST_OBJECT, read::input::FilePlace};

/// The most bytes of JSON of a document, with its aliases expanded.
const LARGEST: usize = 16 * LARGEST_OBJECT;

/// Reads a document like kubectl: `yes` and `on` are text. In the JSON, the items of lists are on the same lines. `begins`
/// is where the document begins, and `cut` is the last line of a file that ends without a line break.
pub(super) fn to_json(text: &str, begins: FilePlace<'_>, cut: Option<usize>) -> Result<String, InputError> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        // A snippet would show values, which may be secrets.
        with_snippet: false,
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
        },
    };
    let mut json = String::new();
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        Transcode::new(&mut json, true).deserialize(deserializer)
    });
    let Err(error) = read else { return Ok(json) };
    let (line, column) = error
        .location()
        .map_or((1, 1), |place| (place.line() as usize, place.column() as usize));
    let mut message = match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` is repeated")
        }
        serde_saphyr::Error::DuplicateMappingKey { key: None, .. } => "a key is repeated".to_owned(),
        other => without_quotes(&other.to_string()),
    };
    let line = begins.line + line.max(1) - 1;
    if cut.is_some_and(|last| line >= last) {
        message += " (it ends there: was kubectl interrupted?)";
    }
    Err(syntax(FilePlace { line, ..begins }, column, "YAML", &message))
}

/// Removes quotes of the file, which may be secrets.
fn without_quotes(message: &str) -> String {
    let parts = message.split(['"', '`']).enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { "…" } else { part })
        .collect()
}

/// Writes a value as JSON. Numbers that JSON lacks are out of range in it, so that they spoil one object alone.
struct Transcode<'j> {
    json: &'j mut String,
    /// Whether its items, or those of its field `items`, are those of the document: they stay on their lines.
    is_document: bool,
}

/// A value as JSON.
struct Transcoded(String);

impl<'de> Deserialize<'de> for Transcoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = String::new();
        Transcode::new(&mut json, false).deserialize(deserializer)?;
        Ok(Self(json))
    }
}

impl<'j> Transcode<'j> {
    fn new(json: &'j mut String, is_document: bool) -> Self {
        Self { json, is_document }
    }

    fn put<E: serde::de::Error>(self, value: impl Into<Value>) -> Result<(), E> {
        if self.json.len() > LARGEST {
            return Err(E::custom(
                "a document that is too large with its aliases expanded",
            ));
        }
        let _ = write!(self.json, "{}", value.into());
        Ok(())
    }

    /// Ends a list or an object that begins at `start`, in place of the last comma.
    fn close(self, start: usize, end: char) {
        if self.json.len() > start {
            self.json.pop();
        }
        self.json.push(end);
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
        self.json.push_str("1e999");
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.put(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.json.push('[');
        let (start, mut line) = (self.json.len(), 1);
        while self.is_document
            && let Some(item) = items.next_element::<Spanned<Transcoded>>()?
        {
            let breaks = item.referenced.line().saturating_sub(line);
            line += breaks;
            self.json.extend((0..breaks).map(|_| '\n'));
            self.json.push_str(&item.value.0);
            self.json.push(',');
        }
        while items
            .next_element_seed(Transcode::new(&mut *self.json, false))?
            .is_some()
        {
            self.json.push(',');
        }
        self.close(start, ']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.json.push('{');
        let start = self.json.len();
        while let Some(key) = map.next_key::<String>()? {
            let is_items = self.is_document && key == "items";
            Transcode::new(&mut *self.json, false).put(key)?;
            self.json.push(':');
            map.next_value_seed(Transcode::new(&mut *self.json, is_items))?;
            self.json.push(',');
        }
        self.close(start, '}');
        Ok(())
    }
}
