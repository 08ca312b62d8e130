//! References to objects, the objects whose every version the suite records, and their histories.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Evidence, Kind, Later,
    api::{ClusterProfile, Labels, Metadata, PlacementDecision, names},
    lenient::{self, Untyped},
};

/// An object in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Kind, such as `ClusterProfile`.
    pub kind: String,
    /// Namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid; empty if unknown.
    pub uid: String,
    /// `resourceVersion`; empty if unknown.
    pub resource_version: String,
}

/// A namespace of the hub, as last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// `resourceVersion`.
    pub resource_version: String,
    /// Labels.
    pub labels: Labels,
}

/// An object that does not have the shape of its kind, so that it cannot be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Unreadable {
    /// The object, as far as it is known. An empty kind may be any.
    pub object: ObjectRef,
    /// What is wrong with it.
    pub message: String,
}

impl ObjectRef {
    pub(crate) fn new(kind: &str, namespace: &str, name: &str, uid: &str, resource_version: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            resource_version: resource_version.to_owned(),
        }
    }

    /// `namespace/name`, or the name alone.
    pub fn path(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.path())
    }
}

impl fmt::Display for Unreadable {
    /// Names the object as far as it is known, and what is wrong with it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.object.kind.as_str(), self.object.name.as_str()) {
            ("", _) => f.write_str("an object")?,
            (kind, "") => write!(f, "a {kind}")?,
            (_, _) => write!(f, "{}", self.object)?,
        }
        write!(f, " could not be read: {}", self.message)
    }
}

impl<T: Tracked> From<&T> for ObjectRef {
    fn from(object: &T) -> Self {
        object.object_ref()
    }
}

impl Namespace {
    /// The consumer whose Secrets it holds, by its label; none if the label is absent or empty.
    pub fn consumer(&self) -> Option<&str> {
        let name = self.labels.get(names::LABEL_CONSUMER)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }
}

impl From<&Namespace> for ObjectRef {
    fn from(of: &Namespace) -> Self {
        Self::new("Namespace", "", &of.name, &of.uid, &of.resource_version)
    }
}

/// An object whose versions the suite records: a ClusterProfile or a PlacementDecision.
pub trait Tracked: Clone + Default + PartialEq + DeserializeOwned + Send + Sync + 'static {
    /// Its kind.
    const KIND: &'static str;
    /// Its plural, as in request paths.
    const PLURAL: &'static str;
    /// The kind of evidence that its list is.
    const LISTED: Kind;
    /// The kind of evidence that its watch is.
    const WATCHED: Kind;

    /// The histories of that kind.
    fn histories(evidence: &Evidence) -> &[History<Self>];

    /// The histories of that kind that go on after the window.
    fn later(later: &Later) -> &[History<Self>];

    /// The histories of that kind, to add to.
    fn histories_mut(evidence: &mut Evidence) -> &mut Vec<History<Self>>;

    /// Its metadata.
    fn metadata(&self) -> &Metadata;

    /// Its API version, with the group, to set.
    fn api_version_mut(&mut self) -> &mut Arc<str>;

    /// Reads one from untrusted JSON.
    ///
    /// # Errors
    /// When it has another shape or no name. The error names the part that does not fit.
    fn read(object: Untyped<'_>) -> Result<Self, Box<Unreadable>> {
        lenient::tracked(object)
    }

    /// Shares every part that equals the one in `previous`.
    fn share_with(&mut self, previous: &Self);

    /// Its identity, in this version.
    fn object_ref(&self) -> ObjectRef {
        let of = self.metadata();
        ObjectRef::new(Self::KIND, &of.namespace, &of.name, &of.uid, &of.resource_version)
    }
}

impl Tracked for ClusterProfile {
    const KIND: &'static str = names::KIND;
    const PLURAL: &'static str = names::PLURAL;
    const LISTED: Kind = Kind::Inventory;
    const WATCHED: Kind = Kind::Timeline;

    fn histories(evidence: &Evidence) -> &[History<Self>] {
        &evidence.profiles
    }

    fn later(later: &Later) -> &[History<Self>] {
        &later.profiles
    }

    fn histories_mut(evidence: &mut Evidence) -> &mut Vec<History<Self>> {
        &mut evidence.profiles
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn api_version_mut(&mut self) -> &mut Arc<str> {
        &mut self.api_version
    }

    fn share_with(&mut self, previous: &Self) {
        ClusterProfile::share_with(self, previous);
    }
}

impl Tracked for PlacementDecision {
    const KIND: &'static str = names::PLACEMENT_KIND;
    const PLURAL: &'static str = names::PLACEMENT_PLURAL;
    const LISTED: Kind = Kind::PlacementDecisions;
    const WATCHED: Kind = Kind::PlacementTimeline;

    fn histories(evidence: &Evidence) -> &[History<Self>] {
        &evidence.slices
    }

    fn later(later: &Later) -> &[History<Self>] {
        &later.slices
    }

    fn histories_mut(evidence: &mut Evidence) -> &mut Vec<History<Self>> {
        &mut evidence.slices
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata.common
    }

    fn api_version_mut(&mut self) -> &mut Arc<str> {
        &mut self.api_version
    }

    fn share_with(&mut self, previous: &Self) {
        PlacementDecision::share_with(self, previous);
    }
}

/// One profile (one uid) in every version seen.
pub type ProfileHistory = History<ClusterProfile>;

/// One slice of a decision (one uid) in every version seen.
pub type SliceHistory = History<PlacementDecision>;

/// One object (one uid) in every version seen, oldest first. Never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History<T> {
    /// How the run first saw it.
    pub origin: Origin,
    /// The versions. They share the parts that did not change.
    pub versions: Vec<Version<T>>,
    /// When the run saw that it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    /// The `resourceVersion` of the deletion; none if the watch did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_version: Option<Box<str>>,
}

/// One version of an object, and when the runner received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Version_of_{T}")]
pub struct Version<T = ClusterProfile> {
    /// When the runner received it, by the runner's clock; none in a dump, which does not say when it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The object.
    pub object: T,
}

/// How the run first saw an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// It was in the first list.
    Listed,
    /// The watch reported its creation, so its first version is the one created.
    Created,
    /// It was in a later list, after the watch had been lost. Earlier versions may be missing.
    Relisted,
}

impl<T> Version<T> {
    /// When the runner received it, to be compared with other times. What a dump shows was there before all that has a time.
    pub fn received(&self) -> Timestamp {
        self.at.unwrap_or(Timestamp::MIN)
    }
}

impl<T> History<T> {
    /// The last version seen.
    pub fn last(&self) -> &T {
        &self
            .versions
            .last()
            .expect("a history holds at least one version")
            .object
    }

    /// The first version seen.
    pub fn first(&self) -> &T {
        &self
            .versions
            .first()
            .expect("a history holds at least one version")
            .object
    }

    /// The last version, unless the object was deleted.
    pub fn current(&self) -> Option<&T> {
        self.deleted.is_none().then(|| self.last())
    }

    /// The version before the one at that place, if there is one.
    pub fn before(&self, place: usize) -> Option<&T> {
        Some(&self.versions[place.checked_sub(1)?].object)
    }

    /// Each version with the one before it.
    pub fn steps(&self) -> impl Iterator<Item = (&Version<T>, &Version<T>)> {
        self.versions.windows(2).map(|pair| (&pair[0], &pair[1]))
    }
}

impl<T: Tracked> History<T> {
    /// The object when it was deleted, and when the run saw that; none if it was not. Finalizers may keep it terminating for
    /// a while.
    pub fn went(&self) -> Option<(&T, Timestamp)> {
        let mut versions = self.versions.iter();
        let terminating = versions.find(|version| version.object.metadata().deletion_timestamp.is_some());
        let terminating = terminating.map(|version| (&version.object, version.received()));
        terminating.or_else(|| Some((self.last(), self.deleted?)))
    }
}

impl ProfileHistory {
    /// The last version, unless the profile was deleted or is terminating.
    pub fn live(&self) -> Option<&ClusterProfile> {
        self.current()
            .filter(|profile| profile.metadata.deletion_timestamp.is_none())
    }
}
