//! One record of the file, and the order of the records, by which a cut shows what is lost.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, IgnoredAny, value::StrDeserializer},
};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    Driver, EndpointCall, Gap, Header, History, Kind, Login, Member, MemberCall, Mentions, Namespace,
    ObjectKey, Origin, PluginCall, Probe, Request, Secret, Testbed, Tracked, UnlabelledSecret, Unreadable,
    Version, Window,
    api::{ClusterProfile, PlacementDecision},
    lenient::{self, without_values},
};

#[expect(
    clippy::large_enum_variant,
    reason = "one line at a time, which is taken apart immediately"
)]
pub(super) enum Line {
    Record(Record<'static>),
    /// A record of a kind that the suite does not know.
    Unknown(String),
}

impl Line {
    /// Reads a line. The error leaves out what it quotes: a misplaced value may be a secret.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(line).map_err(|_| "it is not UTF-8 text")?;
        match serde_json::from_str::<Record>(text) {
            Ok(record) if record.is_in_place() => Ok(Self::Record(record)),
            Ok(_) => Ok(Self::Unknown(AFTER_WINDOW.to_owned())),
            Err(error) => Ok(Self::Unknown(
                unknown_kind(text)?.ok_or_else(|| described(&error))?,
            )),
        }
    }
}

const AFTER_WINDOW: &str = "afterWindow";

/// The kind of a record that the suite does not know; none if it knows it.
fn unknown_kind(text: &str) -> Result<Option<String>, String> {
    let (kind, value) = entry(text)?;
    let is_known = if kind == AFTER_WINDOW {
        Record::is_kind(&entry(value.get())?.0)
    } else {
        Record::is_kind(&kind)
    };
    Ok((!is_known).then_some(kind))
}

/// The key and the value of an object with one key.
fn entry(text: &str) -> Result<(String, &RawValue), String> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| described(&error))?;
    let mut entries = lenient::parts(text).into_iter();
    match (entries.next(), entries.next()) {
        (Some(entry), None) => Ok(entry),
        _ => Err("expected an object with one key, the record's kind".to_owned()),
    }
}

/// An error without its place and without what it quotes.
fn described(error: &serde_json::Error) -> String {
    let error = error.to_string();
    let end = error.rfind(" at line ").unwrap_or(error.len());
    without_values(&error[..end])
}

/// A record: a line is an object with one key, the record's kind.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Record<'a> {
    Header(Box<Header>),
    Gap(Cow<'a, Gap>),
    Unreadable(Cow<'a, Unreadable>),
    #[serde(deserialize_with = "by_itself")]
    Namespace(Cow<'a, Namespace>),
    #[serde(deserialize_with = "by_itself")]
    Secret(Cow<'a, Secret>),
    UnlabelledSecret(Cow<'a, UnlabelledSecret>),
    Probe(Cow<'a, Probe>),
    Profile(Box<First<'a, ClusterProfile>>),
    PlacementDecision(Box<First<'a, PlacementDecision>>),
    Patch(Patch<'a>),
    Deleted(Cow<'a, Deleted>),
    Missing(Cow<'a, ObjectKey>),
    AfterWindow(Box<Record<'a>>),
    Requests(Covers),
    Request(Cow<'a, Request>),
    PlacementDecisionRequests(Covers),
    PlacementDecisionRequest(Cow<'a, Request>),
    Member(Box<Member>),
    MemberSample(MergePatch),
    EndpointCall(Cow<'a, EndpointCall>),
    Login(Cow<'a, Login>),
    Driver(Box<Driver>),
    Testbed(Box<Testbed>),
    MemberCalls(Covers),
    #[serde(deserialize_with = "by_itself")]
    MemberCall(Cow<'a, MemberCall>),
    PluginCalls(Covers),
    #[serde(deserialize_with = "by_itself")]
    PluginCall(Cow<'a, PluginCall>),
    Mentions(Box<Mentions>),
    End {},
}

/// An object's first version.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "T: Clone + DeserializeOwned"))]
pub(super) struct First<'a, T: Clone + 'static> {
    /// When the runner received it; none in a dump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub origin: Origin,
    #[serde(deserialize_with = "by_itself")]
    pub object: Cow<'a, T>,
}

/// A later version of the object above.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Patch<'a> {
    /// When the runner received it.
    pub at: Timestamp,
    /// The difference from the version before.
    #[serde(deserialize_with = "by_itself")]
    pub object: Cow<'a, MergePatch>,
}

/// The deletion of the object above.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Deleted {
    /// When the runner saw it.
    pub at: Timestamp,
    /// The `resourceVersion` of the watch event; none if a later list no longer had the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<Box<str>>,
}

/// The span that a log covers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Covers {
    pub covers: Window,
}

impl<'a, T: Tracked> First<'a, T> {
    /// The first version of a history; none if it has no version.
    pub fn of(history: &'a History<T>) -> Option<Self> {
        let first = history.versions.first()?;
        Some(Self {
            at: first.at,
            origin: history.origin,
            object: Cow::Borrowed(&first.object),
        })
    }

    /// The history that begins with it. Neighbours in the file share much: the API version, the namespace, the manager.
    pub fn history(self, neighbour: Option<&History<T>>) -> History<T> {
        let mut object = self.object.into_owned();
        if let Some(neighbour) = neighbour {
            object.share_with(neighbour.first());
        }
        History {
            origin: self.origin,
            versions: vec![Version { at: self.at, object }],
            deleted: None,
            deleted_version: None,
        }
    }
}

impl Record<'_> {
    fn is_kind(kind: &str) -> bool {
        let read = Record::deserialize(StrDeserializer::<serde::de::value::Error>::new(kind));
        !read.is_err_and(|error| error.to_string().starts_with("unknown variant"))
    }

    /// The kind of evidence that is first in its section of the file. A change belongs to the object above it.
    pub fn section(&self) -> Option<Kind> {
        Some(match self {
            Self::Header(_) | Self::Gap(_) | Self::Unreadable(_) | Self::End {} => return None,
            Self::Patch(_) | Self::Deleted(_) | Self::Missing(_) => return None,
            Self::Driver(_) | Self::Testbed(_) => Kind::Driver,
            Self::Namespace(_) => Kind::Namespaces,
            Self::Secret(_) => Kind::Secrets,
            Self::UnlabelledSecret(_) => Kind::UnlabelledSecrets,
            Self::Probe(_) => Kind::Probe,
            Self::Profile(_) => Kind::Inventory,
            Self::PlacementDecision(_) => Kind::PlacementDecisions,
            Self::AfterWindow(_) | Self::Requests(_) | Self::Request(_) => Kind::Requests,
            Self::PlacementDecisionRequests(_) | Self::PlacementDecisionRequest(_) => Kind::Requests,
            Self::Member(_) | Self::MemberSample(_) | Self::EndpointCall(_) | Self::Login(_) => Kind::Members,
            Self::MemberCalls(_) | Self::MemberCall(_) => Kind::MemberCalls,
            Self::PluginCalls(_) | Self::PluginCall(_) => Kind::PluginCalls,
            Self::Mentions(_) => Kind::Mentions,
        })
    }

    /// Returns `false` for an `afterWindow` that holds a record of another part of the file.
    fn is_in_place(&self) -> bool {
        let Self::AfterWindow(record) = self else {
            return true;
        };
        matches!(
            **record,
            Self::Gap(_)
                | Self::Missing(_)
                | Self::Profile(_)
                | Self::PlacementDecision(_)
                | Self::Patch(_)
                | Self::Deleted(_)
        )
    }
}

/// Reads an object by itself, since it may nest as deep as on the hub. The error names the part that does not fit.
fn by_itself<'de, D: Deserializer<'de>, T: Clone + DeserializeOwned>(
    deserializer: D,
) -> Result<Cow<'static, T>, D::Error> {
    let json = <&RawValue>::deserialize(deserializer)?;
    let object = lenient::read(json.get().as_bytes());
    object.map(Cow::Owned).map_err(D::Error::custom)
}

/// The section of the file, from 1, that has the last record of a kind of evidence. A cut loses all later ones.
pub(super) fn section_of(kind: Kind) -> usize {
    match kind {
        Kind::Driver | Kind::Testbed | Kind::Outputs => 1,
        Kind::Namespaces => 2,
        Kind::Secrets => 3,
        Kind::UnlabelledSecrets => 4,
        Kind::Probe => 5,
        Kind::Inventory | Kind::Timeline | Kind::Writers => 6,
        Kind::PlacementDecisions | Kind::PlacementTimeline => 7,
        Kind::Requests => 8,
        Kind::Members | Kind::Plugins => 9,
        Kind::MemberCalls => 10,
        Kind::PluginCalls => 11,
        Kind::Mentions => 12,
    }
}

/// A merge patch of an object: an absent member is unchanged, `null` removes a member, and a list is replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct MergePatch(Map<String, Value>);

impl MergePatch {
    /// The patch that turns `before` into `after`. A member that is `null` counts as absent.
    pub fn between(before: &Value, after: &Value) -> Self {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => Self(difference(before, after)),
            _ => Self::default(),
        }
    }

    /// Applies the patch to an object.
    pub fn apply(self, target: &mut Value) {
        json_patch::merge(target, &Value::Object(self.0));
    }
}

fn difference(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let is_in = |map: &Map<String, Value>, key: &str| map.get(key).is_some_and(|value| !value.is_null());
    let removed = before
        .keys()
        .filter(|key| is_in(before, key) && !is_in(after, key));
    let mut patch: Map<String, Value> = removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after.iter().filter(|(_, value)| !value.is_null()) {
        match (before.get(key), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                patch.insert(key.clone(), Value::Object(difference(old, new)));
            }
            (_, new) => {
                patch.insert(key.clone(), new.clone());
            }
        }
    }
    patch
}
