//! One line of the file, as it is read: a record, one of an unknown kind, or one of an object that does not fit.

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::record::{First, MergePatch, Patch, Record, Recorded};
use crate::{
    ObjectRef, Origin,
    api::names,
    lenient,
    lenient::{Untyped, masked, without_values},
};

/// A line that was read.
pub(super) struct Line {
    /// True if the record is in an `afterWindow`.
    pub is_after_window: bool,
    pub content: Content,
}

/// What a line holds.
pub(super) enum Content {
    Record(Box<Record<'static>>),
    /// A record of this kind, which the suite does not know.
    Unknown(String),
    /// A record of an object that does not have the shape of its kind.
    Unreadable {
        /// The object, as far as it is known; none for a later version of the object above.
        object: Option<ObjectRef>,
        message: String,
    },
}

/// A version of an object, with the object unread.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    at: Option<Timestamp>,
    #[serde(default)]
    origin: Option<Origin>,
    #[serde(borrow)]
    object: &'a RawValue,
}

impl Line {
    /// Reads a line. The parts of an object are read by themselves, since they may nest as deep as on the hub.
    ///
    /// # Errors
    /// When it is not a record, or a malformed one that is not an object's.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        // Bytes that are not UTF-8 spoil the object around them.
        let text = masked(line);
        let mut outer: OneKey<'_> = parse(&text)?;
        let is_after_window = outer.kind == "afterWindow";
        if is_after_window {
            outer = parse(outer.content.get())?;
        }
        let OneKey { kind, content } = outer;
        let read = match text {
            Cow::Borrowed(_) => record(&kind, content.get()),
            Cow::Owned(_) => Err("it is not UTF-8 text".to_owned()),
        };
        let content = match read {
            Ok(Some(record)) if !is_after_window || record.may_be_after_window() => {
                Content::Record(Box::new(record))
            }
            Ok(_) if is_after_window => Content::Unknown("afterWindow".to_owned()),
            Ok(_) => Content::Unknown(kind),
            Err(message) => match broken_object(&kind, content.get()) {
                Some(object) => Content::Unreadable { object, message },
                None => return Err(message),
            },
        };
        Ok(Self {
            is_after_window,
            content,
        })
    }
}

/// Reads a record; none if its kind is unknown.
fn record(kind: &str, content: &str) -> Result<Option<Record<'static>>, String> {
    let record = match kind {
        "profile" => Record::Profile(Box::new(first(content)?)),
        "placementDecision" => Record::PlacementDecision(Box::new(first(content)?)),
        "patch" => {
            let Raw { at, object, .. } = parse(content)?;
            let at = at.ok_or("missing field `at`")?;
            let object: MergePatch = parse(object.get())?;
            Record::Patch(Patch { at, object })
        }
        "namespace" => Record::Namespace(Cow::Owned(object(content)?)),
        "secret" => Record::Secret(Cow::Owned(object(content)?)),
        kind if !Record::is_kind(kind) => return Ok(None),
        kind => parse(&format!(r#"{{"{kind}":{content}}}"#))?,
    };
    Ok(Some(record))
}

fn first<T: Recorded>(content: &str) -> Result<First<'static, T>, String> {
    let raw: Raw<'_> = parse(content)?;
    Ok(First {
        at: raw.at,
        origin: raw.origin.ok_or("missing field `origin`")?,
        object: Cow::Owned(object(raw.object.get())?),
    })
}

/// The object of a record that cannot be read; none for a later version of the object above. `None` if the record is
/// not an object's, or even its object cannot be found: then the file is broken.
fn broken_object(kind: &str, content: &str) -> Option<Option<ObjectRef>> {
    let of_hub = |kind: &str| {
        let raw: Raw<'_> = parse(content).ok()?;
        let object = lenient::identity(Untyped::Text(raw.object.get().as_bytes()), kind);
        Some(Some(ObjectRef {
            kind: kind.to_owned(),
            ..object
        }))
    };
    let of_evidence = |kind| Some(Some(lenient::identity_in_evidence(content.as_bytes(), kind)));
    match kind {
        "profile" => of_hub(names::KIND),
        "placementDecision" => of_hub(names::PLACEMENT_KIND),
        "namespace" => of_evidence("Namespace"),
        "secret" => of_evidence("Secret"),
        "patch" => Some(None),
        _ => None,
    }
}

/// Reads an object. The error names the part that does not fit.
fn object<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    lenient::read(Untyped::Text(json.as_bytes()))
}

/// Parses JSON. The error leaves out the place, which counts from the part's start, and what it quotes: a misplaced
/// value may be a secret.
fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        without_values(&message[..end])
    })
}

/// A record with its content unread. Read by hand, as a derived implementation refuses unknown kinds.
struct OneKey<'a> {
    kind: String,
    content: &'a RawValue,
}

impl<'de> Deserialize<'de> for OneKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entry;

        impl<'de> Visitor<'de> for Entry {
            type Value = OneKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one key, which names the record's kind")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<OneKey<'de>, M::Error> {
                let Some((kind, content)) = map.next_entry::<String, &RawValue>()? else {
                    return Err(M::Error::custom("a record without a kind"));
                };
                match map.next_key::<String>()? {
                    Some(second) => Err(M::Error::custom(format_args!("a second key, `{second}`"))),
                    None => Ok(OneKey { kind, content }),
                }
            }
        }

        deserializer.deserialize_map(Entry)
    }
}
