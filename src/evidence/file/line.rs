//! One line of the file, as it is read: a record, one of an unknown kind, or one of an object that does not fit.

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    LineError,
    merge_patch::MergePatch,
    record::{First, Patch, Record, Recorded},
};
use crate::{
    ObjectRef, Origin,
    api::{ClusterProfile, PlacementDecision, names},
    lenient,
    lenient::{Untyped, masked, without_values},
};

/// A line that was read.
pub(super) enum Line {
    Record(Record<'static>),
    Unknown(String),
    Unreadable(UnreadableRecord),
}

/// A record of an object that does not have the shape of its kind.
pub(super) struct UnreadableRecord {
    /// The object, as far as it is known. A later version belongs to the object above it.
    pub object: ObjectRef,
    /// What is wrong with it.
    pub message: String,
    /// True for a later version of the object above.
    pub is_patch: bool,
    /// True if it is in an `afterWindow`.
    pub is_after_window: bool,
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
    /// Reads a line in one pass. What that fails at is read again part by part: to tell what is wrong, and since the parts
    /// of an object may then nest as deep as on the hub.
    ///
    /// # Errors
    /// When it is not a record, or a malformed one that is not an object's. A malformed object is a [`UnreadableRecord`].
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        // Bytes that are not UTF-8 spoil the object around them.
        let text = masked(line);
        let is_text = matches!(text, Cow::Borrowed(_));
        if is_text && let Ok(record) = serde_json::from_str(&text) {
            return Ok(Self::of(record));
        }
        let OneKey { kind, content } = parse(text.as_bytes())?;
        if !is_text {
            return UnreadableRecord::of(&kind, content.get(), LineError::NotUtf8).map(Self::Unreadable);
        }
        in_parts(&kind, content.get())
    }

    /// The line with that record. An `afterWindow` of another kind comes from a newer suite.
    fn of(record: Record<'static>) -> Self {
        match record {
            Record::AfterWindow(record) if !record.may_be_after_window() => {
                Self::Unknown("afterWindow".to_owned())
            }
            record => Self::Record(record),
        }
    }
}

/// Reads a record part by part.
fn in_parts(kind: &str, content: &str) -> Result<Line, LineError> {
    let read = match kind {
        "profile" => first::<ClusterProfile>(content),
        "placementDecision" => first::<PlacementDecision>(content),
        "patch" => patch(content),
        "namespace" => object(content).map(|namespace| Record::Namespace(Cow::Owned(namespace))),
        "secret" => object(content).map(|secret| Record::Secret(Cow::Owned(secret))),
        "afterWindow" => {
            let OneKey { kind, content } = parse(content.as_bytes())?;
            return Ok(match in_parts(&kind, content.get())? {
                Line::Record(record) => Line::of(Record::AfterWindow(Box::new(record))),
                Line::Unknown(_) => Line::Unknown("afterWindow".to_owned()),
                Line::Unreadable(unreadable) => Line::Unreadable(UnreadableRecord {
                    is_after_window: true,
                    ..unreadable
                }),
            });
        }
        kind if !Record::is_kind(kind) => return Ok(Line::Unknown(kind.to_owned())),
        kind => parse(format!(r#"{{"{kind}":{content}}}"#).as_bytes()),
    };
    match read {
        Ok(record) => Ok(Line::Record(record)),
        Err(error) => UnreadableRecord::of(kind, content, error).map(Line::Unreadable),
    }
}

fn first<T: Recorded>(content: &str) -> Result<Record<'static>, LineError> {
    let Raw {
        at,
        origin,
        object: raw,
    } = parse(content.as_bytes())?;
    let origin = origin.ok_or_else(|| missing("origin"))?;
    let object = Cow::Owned(object(raw.get())?);
    Ok(T::record(First { at, origin, object }))
}

fn missing(field: &str) -> LineError {
    LineError::Shape(format!("missing field `{field}`"))
}

fn patch(content: &str) -> Result<Record<'static>, LineError> {
    let Raw { at, object, .. } = parse(content.as_bytes())?;
    let at = at.ok_or_else(|| missing("at"))?;
    let object: MergePatch = parse(object.get().as_bytes())?;
    Ok(Record::Patch(Patch { at, object }))
}

impl UnreadableRecord {
    /// A patch that makes the object above it unreadable.
    pub fn of_patch(message: String) -> Self {
        Self {
            object: ObjectRef::default(),
            message,
            is_patch: true,
            is_after_window: false,
        }
    }

    /// The unreadable record with that error, if the record is an object's.
    ///
    /// # Errors
    /// With the error, if it is not the object that is wrong.
    fn of(kind: &str, content: &str, error: LineError) -> Result<Self, LineError> {
        let first = |kind: &str| {
            // If even this cannot be read, the file is broken, not the object.
            let Raw { object, .. } = parse(content.as_bytes()).ok()?;
            Some(ObjectRef {
                kind: kind.to_owned(),
                ..lenient::identity(Untyped::Text(object.get().as_bytes()), kind)
            })
        };
        let object = match kind {
            "profile" => first(names::KIND),
            "placementDecision" => first(names::PLACEMENT_KIND),
            "namespace" => Some(lenient::identity_in_evidence(content.as_bytes(), "Namespace")),
            "secret" => Some(lenient::identity_in_evidence(content.as_bytes(), "Secret")),
            "patch" => Some(ObjectRef::default()),
            "afterWindow" => {
                let OneKey { kind, content } = parse(content.as_bytes())?;
                let unreadable = Self::of(&kind, content.get(), error)?;
                return Ok(Self {
                    is_after_window: true,
                    ..unreadable
                });
            }
            _ => None,
        };
        let Some(object) = object else { return Err(error) };
        Ok(Self {
            object,
            message: error.to_string(),
            is_patch: kind == "patch",
            is_after_window: false,
        })
    }
}

/// Reads an object. The error names the part that does not fit.
fn object<T: DeserializeOwned>(json: &str) -> Result<T, LineError> {
    lenient::read(Untyped::Text(json.as_bytes()), "")
        .map_err(|unreadable| LineError::Shape(unreadable.message))
}

/// Parses JSON. The error leaves out the place, which counts from the part's start, and what it quotes: a misplaced
/// value may be a secret.
fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, LineError> {
    serde_json::from_slice(json).map_err(|error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        LineError::Shape(without_values(&message[..end]))
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
