//! One record of the file, and the order of the records, by which a cut shows what is lost.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, value::StrDeserializer},
};
use serde_json::{Map, Value};

use crate::{
    Driver, EndpointCall, Gap, Header, History, Kind, Login, Member, MemberCall, Mentions, Namespace,
    ObjectKey, Origin, PluginCall, Probe, Request, Secret, Testbed, Tracked, UnlabelledSecret, Unreadable,
    Version, Window,
    api::{ClusterProfile, PlacementDecision, shape::Object},
};

/// A record: a line is an object with one key, the record's kind.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Record<'a> {
    Header(Box<Header>),
    Gap(Cow<'a, Gap>),
    Unreadable(Cow<'a, Unreadable>),
    #[serde(deserialize_with = "in_braces")]
    Namespace(Cow<'a, Namespace>),
    #[serde(deserialize_with = "in_braces")]
    Secret(Cow<'a, Secret>),
    UnlabelledSecret(Cow<'a, UnlabelledSecret>),
    Probe(Cow<'a, Probe>),
    Profile(Box<First<'a, ClusterProfile>>),
    PlacementDecision(Box<First<'a, PlacementDecision>>),
    Patch(Patch),
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
    #[serde(deserialize_with = "in_braces")]
    MemberCall(Cow<'a, MemberCall>),
    PluginCalls(Covers),
    #[serde(deserialize_with = "in_braces")]
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
    #[serde(deserialize_with = "in_braces")]
    pub object: Cow<'a, T>,
}

/// A later version of the object above.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Patch {
    /// When the runner received it.
    pub at: Timestamp,
    /// The difference from the version before.
    pub object: MergePatch,
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
    /// Whether it may be in an `afterWindow`.
    pub fn may_be_after_window(&self) -> bool {
        matches!(
            self,
            Self::Gap(_)
                | Self::Missing(_)
                | Self::Profile(_)
                | Self::PlacementDecision(_)
                | Self::Patch(_)
                | Self::Deleted(_)
        )
    }

    /// Whether there are records of that kind.
    pub fn is_kind(kind: &str) -> bool {
        let read = Record::deserialize(StrDeserializer::<serde::de::value::Error>::new(kind));
        !read.is_err_and(|error| error.to_string().starts_with("unknown variant"))
    }
}

/// Reads an object, which is in braces: alone, serde takes a list of its fields for it, too.
fn in_braces<'de, D: Deserializer<'de>, T: Clone + Deserialize<'de>>(
    deserializer: D,
) -> Result<Cow<'static, T>, D::Error> {
    Object::deserialize(deserializer).map(|object| Cow::Owned(object.0))
}

/// The kinds of records in the order of the file. A cut loses those of all later places. A `patch` or `deleted` belongs
/// to the object above it.
const ORDER: [&[&str]; 17] = [
    &["header", "gap", "unreadable"],
    &["driver", "testbed"],
    &["namespace"],
    &["secret"],
    &["unlabelledSecret"],
    &["probe"],
    &["profile"],
    &["placementDecision"],
    &["afterWindow"],
    &["requests", "request"],
    &["placementDecisionRequests", "placementDecisionRequest"],
    &["member", "memberSample", "endpointCall"],
    &["login"],
    &["memberCalls", "memberCall"],
    &["pluginCalls", "pluginCall"],
    &["mentions"],
    &["end"],
];

/// The place of a kind of record in the file.
pub(super) fn place(kind: &str) -> usize {
    let place = ORDER.iter().position(|kinds| kinds.contains(&kind));
    place.unwrap_or_default()
}

/// The kind of record that completes a kind of evidence.
pub(super) fn last_record(kind: Kind) -> &'static str {
    match kind {
        Kind::Namespaces => "namespace",
        Kind::Secrets => "secret",
        Kind::UnlabelledSecrets => "unlabelledSecret",
        Kind::Probe => "probe",
        Kind::Inventory | Kind::Timeline | Kind::Writers => "profile",
        Kind::PlacementDecisions | Kind::PlacementTimeline => "placementDecision",
        // One log has the requests on both kinds of objects.
        Kind::Requests => "placementDecisionRequest",
        Kind::Members | Kind::Plugins => "login",
        Kind::Driver | Kind::Testbed | Kind::Outputs => "driver",
        Kind::MemberCalls => "memberCall",
        Kind::PluginCalls => "pluginCall",
        Kind::Mentions => "mentions",
    }
}

/// A merge patch of an object: an absent member is unchanged, `null` removes a member, and a list is replaced.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
