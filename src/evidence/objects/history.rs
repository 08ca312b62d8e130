//! The history of a profile or of a slice.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Tracked,
    api::{ClusterProfile, PlacementDecision},
};

/// One profile (one uid) in every version seen.
pub type ProfileHistory = History<ClusterProfile>;

/// One slice of a decision (one uid) in every version seen.
pub type SliceHistory = History<PlacementDecision>;

/// One object (one uid) in every version seen, oldest first. Never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
