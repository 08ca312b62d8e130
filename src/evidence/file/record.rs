//! One record of the file, as it is written and read, and the sections by which a cut shows what is lost.

use std::{borrow::Cow, collections::BTreeSet, sync::LazyLock};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
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
#[serde(bound(deserialize = "T: Recorded"))]
pub(super) struct First<'a, T: Recorded> {
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

/// An object with a record of its first version.
pub(super) trait Recorded: Tracked + Serialize + JsonSchema {
    /// The record.
    fn record(first: First<'_, Self>) -> Record<'_>;
}

impl Recorded for ClusterProfile {
    fn record(first: First<'_, Self>) -> Record<'_> {
        Record::Profile(Box::new(first))
    }
}

impl Recorded for PlacementDecision {
    fn record(first: First<'_, Self>) -> Record<'_> {
        Record::PlacementDecision(Box::new(first))
    }
}

impl<'a, T: Recorded> First<'a, T> {
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

    /// Whether there are records of that kind, as the schema has it.
    pub fn is_kind(kind: &str) -> bool {
        static KINDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
            let schema = super::schema();
            let kinds = schema.as_value()["oneOf"].as_array().into_iter().flatten();
            let names = kinds.filter_map(|kind| kind["required"][0].as_str());
            names.map(str::to_owned).collect()
        });
        KINDS.contains(kind)
    }
}

/// Reads an object, which is in braces: alone, serde takes a list of its fields for it, too.
fn in_braces<'de, D: Deserializer<'de>, T: Clone + Deserialize<'de>>(
    deserializer: D,
) -> Result<Cow<'static, T>, D::Error> {
    Object::deserialize(deserializer).map(|object| Cow::Owned(object.0))
}

/// The sections of the file in their order. A cut loses the evidence of all later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    #[default]
    Losses,
    Driver,
    Namespaces,
    Secrets,
    UnlabelledSecrets,
    Probes,
    Profiles,
    Slices,
    AfterWindow,
    Requests,
    SliceRequests,
    Members,
    Logins,
    MemberCalls,
    PluginCalls,
    Mentions,
    End,
}

impl Section {
    /// The section that completes that kind of evidence.
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Namespaces => Section::Namespaces,
            Kind::Secrets => Section::Secrets,
            Kind::UnlabelledSecrets => Section::UnlabelledSecrets,
            Kind::Probe => Section::Probes,
            Kind::Inventory | Kind::Timeline | Kind::Writers => Section::Profiles,
            Kind::PlacementDecisions | Kind::PlacementTimeline => Section::Slices,
            // One log has the requests on both kinds of objects.
            Kind::Requests => Section::SliceRequests,
            Kind::Members | Kind::Plugins => Section::Logins,
            Kind::Driver | Kind::Testbed | Kind::Outputs => Section::Driver,
            Kind::MemberCalls => Section::MemberCalls,
            Kind::PluginCalls => Section::PluginCalls,
            Kind::Mentions => Section::Mentions,
        }
    }

    /// The section of a record. A patch or a deletion belongs to the object above it.
    pub(super) fn of_record(record: &Record, is_of_profile: bool) -> Self {
        match record {
            Record::Header(_) | Record::Gap(_) | Record::Unreadable(_) | Record::Missing(_) => {
                Section::Losses
            }
            Record::Driver(_) | Record::Testbed(_) => Section::Driver,
            Record::Namespace(_) => Section::Namespaces,
            Record::Secret(_) => Section::Secrets,
            Record::UnlabelledSecret(_) => Section::UnlabelledSecrets,
            Record::Probe(_) => Section::Probes,
            Record::Profile(_) => Section::Profiles,
            Record::Patch(_) | Record::Deleted(_) if is_of_profile => Section::Profiles,
            Record::PlacementDecision(_) | Record::Patch(_) | Record::Deleted(_) => Section::Slices,
            Record::AfterWindow(_) => Section::AfterWindow,
            Record::Requests(_) | Record::Request(_) => Section::Requests,
            Record::PlacementDecisionRequests(_) | Record::PlacementDecisionRequest(_) => {
                Section::SliceRequests
            }
            Record::Member(_) | Record::MemberSample(_) | Record::EndpointCall(_) => Section::Members,
            Record::Login(_) => Section::Logins,
            Record::MemberCalls(_) | Record::MemberCall(_) => Section::MemberCalls,
            Record::PluginCalls(_) | Record::PluginCall(_) => Section::PluginCalls,
            Record::Mentions(_) => Section::Mentions,
            Record::End {} => Section::End,
        }
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
        merge(target, Value::Object(self.0));
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

/// The algorithm of RFC 7396, section 2.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}
