//! References to objects, histories of the objects that the suite watches, and what a run saw after its window.

use std::{collections::BTreeSet, fmt, sync::Arc};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Evidence, Gap, Gaps, Kind, ObjectKey, Window,
    api::{ClusterProfile, Labels, Metadata, PlacementDecision, names, shape::is_default},
    lenient,
};

/// An object in one version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Kind, for example `ClusterProfile`.
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
    /// The object, or what is known of it. An empty kind may be any.
    pub object: ObjectRef,
    /// What is wrong with it.
    pub message: String,
}

impl ObjectRef {
    /// A reference by all parts of the identity; those that are unknown are empty.
    pub fn new(kind: &str, namespace: &str, name: &str, uid: &str, resource_version: &str) -> Self {
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
    /// Names the object, or what is known of it, and what is wrong with it.
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

    /// Reads one from untrusted JSON. The error names the part that does not fit.
    fn read(json: &[u8]) -> Result<Self, Box<Unreadable>> {
        lenient::tracked(json)
    }

    /// Shares every part that equals the one in `previous`.
    fn share_with(&mut self, previous: &Self);

    /// Its identity, in this version.
    fn object_ref(&self) -> ObjectRef {
        let of = self.metadata();
        ObjectRef::new(Self::KIND, &of.namespace, &of.name, &of.uid, &of.resource_version)
    }
}

macro_rules! tracked {
    ($object:ident, $kind:expr, $watched:expr, $histories:ident) => {
        impl Tracked for $object {
            const KIND: &'static str = $kind;
            const WATCHED: Kind = $watched;

            fn histories(evidence: &Evidence) -> &[History<Self>] {
                &evidence.$histories
            }

            fn later(later: &Later) -> &[History<Self>] {
                &later.$histories
            }

            fn histories_mut(evidence: &mut Evidence) -> &mut Vec<History<Self>> {
                &mut evidence.$histories
            }

            fn metadata(&self) -> &Metadata {
                &self.metadata
            }

            fn api_version_mut(&mut self) -> &mut Arc<str> {
                &mut self.api_version
            }

            fn share_with(&mut self, previous: &Self) {
                $object::share_with(self, previous);
            }
        }
    };
}

tracked!(ClusterProfile, names::KIND, Kind::Timeline, profiles);
tracked!(
    PlacementDecision,
    names::PLACEMENT_KIND,
    Kind::PlacementTimeline,
    slices
);

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
        let last = self.versions.last();
        &last.expect("a history holds at least one version").object
    }

    /// The first version seen.
    pub fn first(&self) -> &T {
        let first = self.versions.first();
        &first.expect("a history holds at least one version").object
    }

    /// The last version, unless the object was deleted.
    pub fn current(&self) -> Option<&T> {
        self.deleted.is_none().then(|| self.last())
    }

    /// The version before the one at that place, if there is one.
    pub fn before(&self, place: usize) -> Option<&T> {
        Some(&self.versions[place.checked_sub(1)?].object)
    }

    /// The object in each version.
    pub fn objects(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.versions.iter().map(|version| &version.object)
    }

    /// Each version with the one before it.
    pub fn steps(&self) -> impl Iterator<Item = (&Version<T>, &Version<T>)> {
        self.versions.windows(2).map(|pair| (&pair[0], &pair[1]))
    }
}

impl<T: Tracked> History<T> {
    /// The object when it was deleted or began to terminate, and when the run saw that; none if it was not deleted.
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
        let is_live = |profile: &&ClusterProfile| profile.metadata.deletion_timestamp.is_none();
        self.current().filter(is_live)
    }
}

/// How a run watched on after its window. It did not if no violation was open when the window ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// Until when it watched on; the end of the window if it did not.
    pub until: Timestamp,
    /// The number of profiles that it waited for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profiles: usize,
    /// The number of slices of decisions that it waited for.
    #[serde(rename = "placementDecisions", default, skip_serializing_if = "is_default")]
    pub slices: usize,
    /// True if the run was stopped meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

/// What a run saw after its window of the objects that it waited for. Nothing else counts of that time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Later {
    /// The profiles, by namespace and name, from the version on that the window ended with.
    pub profiles: Vec<ProfileHistory>,
    /// The slices of decisions.
    pub slices: Vec<SliceHistory>,
    /// The profiles that the run waited for though none of that name existed when the window ended.
    pub missing: BTreeSet<ObjectKey>,
    /// What was missed of that time.
    pub gaps: Gaps,
}

/// The objects with a fault that was open when the window ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The profiles.
    pub profiles: BTreeSet<ObjectKey>,
    /// The slices of decisions.
    pub slices: BTreeSet<ObjectKey>,
}

impl Settled {
    /// A run that did not watch on after its window.
    pub fn at_once(window: Window) -> Self {
        Self {
            until: window.until,
            ..Self::default()
        }
    }

    /// What it waited for, for example `3 profiles`; empty if for nothing.
    pub fn awaited(&self) -> String {
        let phrase = |count: usize, noun: &str| match count {
            0 => None,
            1 => Some(format!("1 {noun}")),
            count => Some(format!("{count} {noun}s")),
        };
        let of_both = [phrase(self.profiles, "profile"), phrase(self.slices, "slice")];
        of_both.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// How long it watched on after its window, and for what: `70 s more for 3 profiles to settle`; none if it did not.
    pub fn describe(&self, window: Window) -> Option<String> {
        let awaited = self.awaited();
        let seconds = self.until.duration_since(window.until).as_secs().max(0);
        let stopped = if self.cut_short { ", then stopped" } else { "" };
        (!awaited.is_empty()).then(|| format!("{seconds} s more for {awaited} to settle{stopped}"))
    }
}

impl Later {
    /// Returns `true` if nothing was seen after the window.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Puts the histories in the order in which they are looked up.
    pub fn sort(&mut self) {
        sort(&mut self.profiles);
        sort(&mut self.slices);
    }
}

impl Awaited {
    /// Returns `true` if nothing is open.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty() && self.slices.is_empty()
    }

    /// Adds the objects of another one.
    pub fn add(&mut self, other: Self) {
        self.profiles.extend(other.profiles);
        self.slices.extend(other.slices);
    }
}

impl Evidence {
    /// Cuts the evidence at a moment, as if the window had ended then, and the run had waited for all objects until its end.
    pub fn settled_after(&mut self, end: Timestamp) {
        let Some(window) = &mut self.header.window else {
            return;
        };
        self.header.settled = Some(Settled {
            profiles: self.profiles.len(),
            slices: self.slices.len(),
            ..Settled::at_once(*window)
        });
        window.until = end;
        self.later.profiles = cut(&mut self.profiles, end);
        self.later.slices = cut(&mut self.slices, end);
        self.later.missing = self.missing();
        let is_later = |gap: &&Gap| gap.until.is_none_or(|until| until > end);
        self.later.gaps = self.gaps.iter().filter(is_later).cloned().collect();
        self.gaps.retain(|gap| gap.from.is_none_or(|from| from <= end));
        for gap in self.gaps.iter_mut() {
            gap.until = gap.until.map(|until| until.min(end));
        }
        self.later.sort();
    }

    /// The profiles that slices refer to and that do not exist.
    fn missing(&self) -> BTreeSet<ObjectKey> {
        let versions = self.slices.iter().flat_map(|history| &history.versions);
        let references = versions.flat_map(|version| version.object.references());
        let mut missing: BTreeSet<ObjectKey> = references
            .map(|reference| ObjectKey::new(&reference.namespace, &reference.name))
            .collect();
        for profile in self.everyone() {
            missing.remove(&ObjectKey::of(profile));
        }
        missing
    }

    /// Whether the run watched on for the object of that name after its window.
    pub fn was_awaited<T: Tracked>(&self, namespace: &str, name: &str) -> bool {
        let missing = || self.later.missing.contains(&ObjectKey::new(namespace, name));
        !self.later_of::<T>(namespace, name).is_empty() || (T::KIND == names::KIND && missing())
    }

    /// What was seen of the object of that name after the window, if the run waited for it.
    pub fn later_of<T: Tracked>(&self, namespace: &str, name: &str) -> &[History<T>] {
        let all = T::later(&self.later);
        let from = all.partition_point(|history| key(history) < (namespace, name));
        let count = all[from..].partition_point(|history| key(history) == (namespace, name));
        &all[from..from + count]
    }
}

/// Cuts histories at a moment. Returns how they go on.
fn cut<T: Tracked>(histories: &mut Vec<History<T>>, end: Timestamp) -> Vec<History<T>> {
    let mut later = Vec::new();
    for history in &mut *histories {
        let place = history
            .versions
            .partition_point(|version| version.at <= Some(end));
        let is_over = history.deleted.is_some_and(|deleted| deleted <= end);
        if !is_over {
            let versions = history.versions.split_off(place);
            let last = history.versions.last().cloned();
            later.push(History {
                origin: history.origin,
                versions: last.into_iter().chain(versions).collect(),
                deleted: history.deleted.take(),
                deleted_version: history.deleted_version.take(),
            });
        }
    }
    histories.retain(|history| !history.versions.is_empty());
    later
}

fn sort<T: Tracked>(histories: &mut [History<T>]) {
    histories.sort_by(|one, other| {
        key(one)
            .cmp(&key(other))
            .then_with(|| one.versions[0].at.cmp(&other.versions[0].at))
    });
}

fn key<T: Tracked>(history: &History<T>) -> (&str, &str) {
    let metadata = history.last().metadata();
    (&metadata.namespace, &metadata.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settling_is_described() {
        let window = Window {
            from: Timestamp::UNIX_EPOCH,
            until: Timestamp::UNIX_EPOCH,
        };
        let at_once = Settled::at_once(window);
        assert_eq!(at_once.describe(window), None);
        let settled = Settled {
            until: Timestamp::from_second(70).expect("a time"),
            profiles: 3,
            slices: 1,
            cut_short: true,
        };
        let expected = "70 s more for 3 profiles and 1 slice to settle, then stopped";
        assert_eq!(settled.describe(window).as_deref(), Some(expected));
    }
}
