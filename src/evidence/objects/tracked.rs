//! The kinds of objects whose every version the suite records.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::{
    Evidence, History, Kind, Later, ObjectRef, Unreadable,
    api::{ClusterProfile, Metadata, PlacementDecision, names},
    lenient::{self, Untyped},
};

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
    fn read(object: Untyped<'_>) -> Result<Self, Box<Unreadable>>;

    /// Shares every part that equals the one in `previous`.
    fn share_with(&mut self, previous: &Self);

    /// Its identity, in this version.
    fn object_ref(&self) -> ObjectRef {
        let metadata = self.metadata();
        ObjectRef {
            kind: Self::KIND.to_owned(),
            namespace: metadata.namespace.to_string(),
            name: metadata.name.to_string(),
            uid: metadata.uid.to_string(),
            resource_version: metadata.resource_version.clone(),
        }
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

    fn read(object: Untyped<'_>) -> Result<Self, Box<Unreadable>> {
        lenient::profile(object)
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

    fn read(object: Untyped<'_>) -> Result<Self, Box<Unreadable>> {
        lenient::slice(object)
    }

    fn share_with(&mut self, previous: &Self) {
        PlacementDecision::share_with(self, previous);
    }
}
