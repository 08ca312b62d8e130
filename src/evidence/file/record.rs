//! One record of the file, as it is written and read.

use std::{borrow::Cow, collections::BTreeSet, sync::LazyLock};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    change::{Change, Changing},
    look::LookChange,
};
use crate::{
    ConsumerAccess, Driver, EndpointCall, Gap, Header, History, Login, Member, MemberCall, Namespace,
    Notices, ObjectKey, Origin, PluginCall, Probe, Request, Secret, Stage, UnlabelledSecret, Unreadable,
    Version, Window, Workload,
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
    Slice(Box<First<'a, PlacementDecision>>),
    Change(Box<Change>),
    /// A later version of a slice, whole: the suites before `v2` wrote it.
    SliceVersion(Box<Whole>),
    Gone(Gone),
    Missing(Cow<'a, ObjectKey>),
    Later(Box<Record<'a>>),
    Workload(Cow<'a, Workload>),
    ConsumerAccess(Cow<'a, ConsumerAccess>),
    Requests(Covers),
    Request(Cow<'a, Request>),
    SliceRequests(Covers),
    SliceRequest(Cow<'a, Request>),
    Member(Box<Member>),
    Look(Box<LookChange>),
    EndpointCall(Cow<'a, EndpointCall>),
    Login(Cow<'a, Login>),
    Driver(Box<Driver>),
    Stage(Box<Stage>),
    MemberCalls(Covers),
    #[serde(deserialize_with = "in_braces")]
    MemberCall(Cow<'a, MemberCall>),
    PluginCalls(Covers),
    #[serde(deserialize_with = "in_braces")]
    PluginCall(Cow<'a, PluginCall>),
    Notices(Box<Notices>),
    End {},
}

/// An object's first version.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "T: Recorded"))]
pub(super) struct First<'a, T: Recorded> {
    /// When the runner received it; none in a dump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::json_schema::Time>")]
    pub at: Option<Timestamp>,
    pub origin: Origin,
    /// The suites before `v2` named it by its kind.
    #[serde(alias = "profile", alias = "slice", deserialize_with = "in_braces")]
    pub object: Cow<'a, T>,
}

/// A later version of a slice, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Whole {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    #[serde(deserialize_with = "in_braces")]
    pub slice: Cow<'static, PlacementDecision>,
}

/// When an object was deleted.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Gone {
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
}

/// The span that a log covers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Covers {
    pub covers: Window,
}

/// An object with a record of its first version.
pub(super) trait Recorded: Changing + Serialize + JsonSchema {
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
        Record::Slice(Box::new(first))
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
        }
    }
}

impl Record<'_> {
    /// Whether it may be of the time after the window.
    pub fn may_be_later(&self) -> bool {
        matches!(
            self,
            Self::Gap(_)
                | Self::Missing(_)
                | Self::Profile(_)
                | Self::Slice(_)
                | Self::Change(_)
                | Self::SliceVersion(_)
                | Self::Gone(_)
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
