//! One line of the file.

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    LineError,
    change::Change,
    look::{LookChange, MemberLine},
};
use crate::{
    ConsumerAccess, Driver, EndpointCall, Gap, Header, Login, Member, Namespace, ObjectKey, ObjectRef,
    Origin, Probe, Request, Secret, UnlabelledSecret, Unreadable, Version, Window, Workload,
    api::{ClusterProfile, PlacementDecision, names, shape::Object},
    lenient,
    lenient::{Untyped, masked, without_values},
};

/// How every evidence file begins, white space aside: with the header and its format.
pub(crate) const OPENING: &str = r#"{"header":{"format":"conformance.clusterprofile/evidence/"#;

/// A record to write.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line<'a> {
    Header(&'a Header),
    Gap(&'a Gap),
    Unreadable(&'a Unreadable),
    Namespace(&'a Namespace),
    Secret(&'a Secret),
    UnlabelledSecret(&'a UnlabelledSecret),
    Probe(&'a Probe),
    Profile(FirstLine<'a>),
    Change(Box<Change>),
    Slice(FirstSliceLine<'a>),
    SliceVersion(SliceVersionLine<'a>),
    Gone(Gone),
    Missing(&'a ObjectKey),
    Later(&'a Line<'a>),
    Workload(&'a Workload),
    ConsumerAccess(&'a ConsumerAccess),
    Requests(Covers),
    Request(&'a Request),
    SliceRequests(Covers),
    SliceRequest(&'a Request),
    Member(#[schemars(with = "Member")] MemberLine<'a>),
    Look(Box<LookChange>),
    EndpointCall(&'a EndpointCall),
    Login(&'a Login),
    Driver(&'a Driver),
    End {},
}

/// A record that was read.
pub(super) enum Record {
    Header(Box<Header>),
    Gap(Gap),
    Unreadable(Unreadable),
    Namespace(Namespace),
    Secret(Secret),
    UnlabelledSecret(UnlabelledSecret),
    Probe(Probe),
    Profile(Box<First<ClusterProfile>>),
    Change(Box<Change>),
    Slice(Box<First<PlacementDecision>>),
    SliceVersion(Box<Version<PlacementDecision>>),
    Gone(Gone),
    Missing(ObjectKey),
    Later(Box<Record>),
    Workload(Workload),
    ConsumerAccess(ConsumerAccess),
    Requests(Covers),
    Request(Request),
    SliceRequests(Covers),
    SliceRequest(Request),
    Member(Member),
    Look(Box<LookChange>),
    EndpointCall(EndpointCall),
    Login(Login),
    Driver(Driver),
    End,
    Unknown(String),
    Misfit(Misfit),
}

/// The kinds of records of which there are later ones.
const LATER: [&str; 7] = [
    "gap",
    "missing",
    "profile",
    "change",
    "slice",
    "sliceVersion",
    "gone",
];

/// A record of an object that does not have the shape of its kind.
pub(super) struct Misfit {
    /// The object, as far as it is known. A later version belongs to the object above it.
    pub object: ObjectRef,
    /// What is wrong with it.
    pub message: String,
    /// True for a later version of the object above.
    pub is_change: bool,
}

/// A profile's first version, for writing.
#[derive(Serialize, JsonSchema)]
pub(super) struct FirstLine<'a> {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    pub origin: Origin,
    pub profile: &'a ClusterProfile,
}

/// A slice's first version, for writing.
#[derive(Serialize, JsonSchema)]
pub(super) struct FirstSliceLine<'a> {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    pub origin: Origin,
    pub slice: &'a PlacementDecision,
}

/// A slice's later version, for writing.
#[derive(Serialize, JsonSchema)]
pub(super) struct SliceVersionLine<'a> {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    pub slice: &'a PlacementDecision,
}

/// An object's first version, as read.
pub(super) struct First<T> {
    pub at: Timestamp,
    pub origin: Origin,
    pub object: T,
}

/// A version of a slice, with the slice unread.
#[derive(Deserialize)]
struct SliceRaw<'a> {
    at: Timestamp,
    #[serde(default)]
    origin: Option<Origin>,
    #[serde(borrow)]
    slice: &'a RawValue,
}

/// A profile's first version, with the profile unread.
#[derive(Deserialize)]
struct FirstRaw<'a> {
    at: Timestamp,
    origin: Origin,
    #[serde(borrow)]
    profile: &'a RawValue,
}

/// What nearly all lines hold, read in one pass. A flawed line is read again, part by part.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Usual {
    Profile(Box<Whole>),
    Change(Box<Change>),
}

/// A profile's first version, read in one pass.
#[derive(Deserialize)]
struct Whole {
    at: Timestamp,
    origin: Origin,
    profile: Object<ClusterProfile>,
}

impl From<Usual> for Record {
    fn from(usual: Usual) -> Self {
        match usual {
            Usual::Profile(whole) => Record::Profile(Box::new(First {
                at: whole.at,
                origin: whole.origin,
                object: whole.profile.0,
            })),
            Usual::Change(change) => Record::Change(change),
        }
    }
}

/// When a profile was deleted.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Gone {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
}

/// The span that the audit log covers.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Covers {
    pub covers: Window,
}

impl Record {
    /// Reads a line. Parses each part on its own, so that profiles may nest as deep as on the hub.
    ///
    /// # Errors
    /// When it is not a record, or a malformed one that is not an object's. A malformed object is a [`Misfit`].
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        // Bytes that are not UTF-8 spoil the object around them.
        let text = masked(line);
        if let Cow::Borrowed(text) = text
            && (text.starts_with(r#"{"profile""#) || text.starts_with(r#"{"change""#))
            && let Ok(usual) = serde_json::from_str::<Usual>(text)
        {
            return Ok(usual.into());
        }
        let OneKey { kind, content } = parse(text.as_bytes())?;
        let content = content.get();
        let read = if matches!(text, Cow::Owned(_)) {
            Err(LineError::NotUtf8)
        } else {
            Self::of(&kind, content.as_bytes())
        };
        read.or_else(|error| Self::misfit(&kind, content, &error).ok_or(error))
    }

    /// The record of an object that does not fit; none if it is not the object that is wrong.
    fn misfit(kind: &str, content: &str, error: &LineError) -> Option<Self> {
        if kind != "later" {
            return Misfit::of(kind, content, error.to_string()).map(Record::Misfit);
        }
        let OneKey { kind, content } = parse(content.as_bytes()).ok()?;
        let misfit = Misfit::of(&kind, content.get(), error.to_string())?;
        Some(Record::Later(Box::new(Record::Misfit(misfit))))
    }

    fn of(kind: &str, content: &[u8]) -> Result<Self, LineError> {
        Ok(match kind {
            "header" => Record::Header(parse(content)?),
            "gap" => Record::Gap(parse(content)?),
            "unreadable" => Record::Unreadable(parse(content)?),
            "namespace" => Record::Namespace(object(content)?),
            "secret" => Record::Secret(object(content)?),
            "unlabelledSecret" => Record::UnlabelledSecret(parse(content)?),
            "probe" => Record::Probe(parse(content)?),
            "profile" => {
                let FirstRaw { at, origin, profile } = parse(content)?;
                Record::Profile(Box::new(First {
                    at,
                    origin,
                    object: object(profile.get().as_bytes())?,
                }))
            }
            "slice" => {
                let SliceRaw { at, origin, slice } = parse(content)?;
                Record::Slice(Box::new(First {
                    at,
                    origin: origin.unwrap_or(Origin::Listed),
                    object: object(slice.get().as_bytes())?,
                }))
            }
            "sliceVersion" => {
                let SliceRaw { at, slice, .. } = parse(content)?;
                Record::SliceVersion(Box::new(Version {
                    at,
                    object: object(slice.get().as_bytes())?,
                }))
            }
            "later" => match parse(content)? {
                OneKey { kind, content } if LATER.contains(&&*kind) => {
                    Record::Later(Box::new(Self::of(&kind, content.get().as_bytes())?))
                }
                _ => Record::Unknown(kind.to_owned()),
            },
            "workload" => Record::Workload(parse(content)?),
            "consumerAccess" => Record::ConsumerAccess(parse(content)?),
            "sliceRequests" => Record::SliceRequests(parse(content)?),
            "sliceRequest" => Record::SliceRequest(parse(content)?),
            "change" => Record::Change(parse(content)?),
            "gone" => Record::Gone(parse(content)?),
            "missing" => Record::Missing(parse(content)?),
            "requests" => Record::Requests(parse(content)?),
            "request" => Record::Request(parse(content)?),
            "member" => Record::Member(parse(content)?),
            "look" => Record::Look(parse(content)?),
            "endpointCall" => Record::EndpointCall(parse(content)?),
            "login" => Record::Login(parse(content)?),
            "driver" => Record::Driver(parse(content)?),
            "end" => Record::End,
            _ => Record::Unknown(kind.to_owned()),
        })
    }
}

impl Misfit {
    /// Returns `None` unless it is the record of an object.
    fn of(kind: &str, content: &str, message: String) -> Option<Self> {
        let object = match kind {
            "profile" => {
                // If even this cannot be read, the file is broken, not the object.
                let FirstRaw { profile, .. } = parse(content.as_bytes()).ok()?;
                ObjectRef {
                    kind: names::KIND.to_owned(),
                    ..lenient::identity(Untyped::Text(profile.get().as_bytes()), names::KIND)
                }
            }
            "slice" => {
                let SliceRaw { slice, .. } = parse(content.as_bytes()).ok()?;
                ObjectRef {
                    kind: names::PLACEMENT_KIND.to_owned(),
                    ..lenient::identity(Untyped::Text(slice.get().as_bytes()), names::PLACEMENT_KIND)
                }
            }
            "namespace" => lenient::identity_in_evidence(content.as_bytes(), "Namespace"),
            "secret" => lenient::identity_in_evidence(content.as_bytes(), "Secret"),
            "change" | "sliceVersion" => ObjectRef::default(),
            _ => return None,
        };
        Some(Self {
            object,
            message,
            is_change: matches!(kind, "change" | "sliceVersion"),
        })
    }
}

/// Reads an object. The error names the part that does not fit.
fn object<T: DeserializeOwned>(json: &[u8]) -> Result<T, LineError> {
    lenient::read(Untyped::Text(json), "").map_err(|unreadable| LineError::Shape(unreadable.message))
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
