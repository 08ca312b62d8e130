//! The histories of profiles, or of slices, built from lists and watches.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use evidence::{
    Gap, History, ObjectRef, Origin, Reason, ReasonId, Tracked, Unreadable, Version, api::ClusterProfile,
    lenient,
};
use jiff::Timestamp;

mod recorded;

pub(crate) use self::recorded::{add_watched, asked_for_writers};

/// The histories so far.
#[derive(Default)]
pub(crate) struct HistoryRecord<T: Tracked = ClusterProfile> {
    histories: Vec<History<T>>,
    /// The history of each uid, and the last pass that met it.
    places: HashMap<Arc<str>, HistoryPlace>,
    passes: u64,
    /// Objects whose newest version does not fit the type, by uid and path.
    unreadable: BTreeMap<String, StillUnreadable>,
    /// Parts of histories that were missed.
    pub gaps: Vec<Gap>,
    /// The number of changes that the watch has brought.
    pub writes: u64,
    /// The number of versions and deletions that the record lacked when they came.
    pub new_versions: u64,
    alive: usize,
    /// Until when each watch knows every change.
    until: Vec<Timestamp>,
}

struct HistoryPlace {
    index: usize,
    pass: u64,
}

/// An object that does not fit the type, since when, and the last pass that met it.
struct StillUnreadable {
    unreadable: Unreadable,
    since: Timestamp,
    pass: u64,
}

impl StillUnreadable {
    /// The gap that it leaves until then.
    fn gap<T: Tracked>(&self, until: Timestamp) -> Gap {
        Gap {
            kind: T::WATCHED,
            from: Some(self.since),
            until: Some(until),
            object: Some(self.unreadable.object.clone()),
            reason: format!("a version could not be read: {}", self.unreadable.message).into(),
        }
    }
}

/// One pass over the whole inventory, or over one namespace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    number: u64,
    /// The origin of profiles that it meets first.
    pub origin: Origin,
    /// Whether the hub was restored from a backup since the pass before: what it has is newer than the record, whatever its
    /// resourceVersions say.
    pub is_of_new_history: bool,
}

impl<T: Tracked> HistoryRecord<T> {
    /// Begins a pass over the whole inventory.
    pub fn begin(&mut self, origin: Origin) -> Pass {
        self.passes += 1;
        Pass {
            number: self.passes,
            origin,
            is_of_new_history: false,
        }
    }

    /// Records a profile that the pass has met. Returns its resourceVersion.
    pub fn met(&mut self, json: &[u8], pass: Pass, at: Timestamp) -> String {
        let object = match self.read(json, at) {
            Ok(profile) => {
                let object = profile.object_ref();
                if pass.is_of_new_history {
                    self.put_back(&profile, at);
                }
                self.put(profile, pass.origin, at, pass.is_of_new_history);
                object
            }
            Err(object) => object,
        };
        if let Some(place) = self.places.get_mut(&self.key_of(&object)) {
            place.pass = pass.number;
        }
        if let Some(one) = self.unreadable.get_mut(&whole_key(&object)) {
            one.pass = pass.number;
        }
        object.resource_version
    }

    /// Ends a pass: profiles that it has not met are deleted.
    pub fn end(&mut self, pass: Pass, namespace: Option<&str>, at: Timestamp) {
        for place in self.places.values() {
            let history = &mut self.histories[place.index];
            let concerned = namespace.is_none_or(|name| name == &*history.last().metadata().namespace);
            if concerned && place.pass < pass.number && history.deleted.is_none() {
                history.deleted = Some(at);
                self.alive -= 1;
            }
        }
        self.unreadable.retain(|_, one| {
            let of = one.unreadable.object.namespace.as_str();
            let concerned = namespace.is_none_or(|name| of.is_empty() || name == of);
            !concerned || one.pass >= pass.number
        });
    }

    /// Records a creation or a change that the watch brings. Returns the resourceVersion.
    pub fn changed(&mut self, json: &[u8], origin: Origin, at: Timestamp) -> String {
        self.writes += 1;
        match self.read(json, at) {
            Ok(profile) => {
                let resource_version = profile.metadata().resource_version.clone();
                self.put(profile, origin, at, false);
                resource_version
            }
            Err(object) => object.resource_version,
        }
    }

    /// Records a deletion that the watch brings. Returns the resourceVersion.
    pub fn deleted(&mut self, json: &[u8], at: Timestamp) -> String {
        self.writes += 1;
        let object = identity::<T>(json);
        self.missed(&object, at);
        if let Some(place) = self.places.get(&self.key_of(&object)) {
            let history = &mut self.histories[place.index];
            if history.deleted.is_none() {
                history.deleted = Some(at);
                let version = object.resource_version.as_str();
                history.deleted_version = (!version.is_empty()).then(|| version.into());
                self.alive -= 1;
                self.new_versions += 1;
            }
        }
        object.resource_version
    }

    /// Compares an object of a list with the record, and marks it as met. Returns it if the record lacks its version.
    pub fn compare(&mut self, json: &[u8], pass: Pass) -> Option<ObjectRef> {
        let object = identity::<T>(json);
        if let Some(place) = self.places.get_mut(&self.key_of(&object)) {
            place.pass = pass.number;
        }
        (!self.has_version(&object)).then_some(object)
    }

    /// Whether the record has no object, not even an unreadable one.
    pub fn is_empty(&self) -> bool {
        self.histories.is_empty() && self.unreadable.is_empty()
    }

    /// Whether the record has that version. An unreadable object is not part of it, and is reported as unreadable.
    pub fn has_version(&self, object: &ObjectRef) -> bool {
        let is_version =
            |version: &Version<T>| version.object.metadata().resource_version == object.resource_version;
        self.unreadable.contains_key(&whole_key(object))
            || self
                .history(&self.key_of(object))
                .is_some_and(|history| history.versions.iter().rev().any(is_version))
    }

    /// The keys of profiles that exist by the record, and that a pass has not met.
    pub fn unmet(&self, pass: Pass, namespace: Option<&str>) -> Vec<Arc<str>> {
        let unmet = self.places.iter().filter(|(_, place)| {
            let history = &self.histories[place.index];
            let concerned = namespace.is_none_or(|name| name == &*history.last().metadata().namespace);
            concerned && place.pass < pass.number && history.deleted.is_none()
        });
        unmet.map(|(key, _)| Arc::clone(key)).collect()
    }

    /// Whether the profile of that key is deleted, or unreadable now.
    pub fn is_deleted(&self, key: &str) -> bool {
        self.history(key).is_none_or(|history| history.deleted.is_some())
    }

    /// When the last version of an object was recorded.
    pub fn last_seen(&self, object: &ObjectRef) -> Option<Timestamp> {
        let versions = &self.history(&self.key_of(object))?.versions;
        versions.last()?.at
    }

    /// The history of that key: the uid, unless two objects have the same one.
    pub fn history(&self, key: &str) -> Option<&History<T>> {
        self.places.get(key).map(|place| &self.histories[place.index])
    }

    /// Starts with what a window ended with: the last versions of the objects that exist, and those that were
    /// unreadable then.
    pub fn go_on<'a>(
        &mut self,
        histories: impl Iterator<Item = &'a History<T>>,
        unreadable: impl Iterator<Item = &'a Unreadable>,
        now: Timestamp,
    ) {
        let pass = self.begin(Origin::Listed);
        for history in histories.filter(|history| history.deleted.is_none()) {
            if let Some(last) = history.versions.last() {
                self.put(last.object.clone(), pass.origin, last.received(), false);
            }
        }
        for unreadable in unreadable.filter(|unreadable| unreadable.object.kind == T::KIND) {
            let still = StillUnreadable {
                unreadable: unreadable.clone(),
                since: now,
                pass: pass.number,
            };
            self.unreadable.insert(whole_key(&unreadable.object), still);
        }
    }

    /// Reads a profile. Notes one that does not fit the type.
    /// The error is the identity of an object that does not fit.
    fn read(&mut self, json: &[u8], at: Timestamp) -> Result<T, ObjectRef> {
        T::read(json).map_err(|unreadable| {
            let object = ObjectRef {
                kind: T::KIND.to_owned(),
                ..unreadable.object
            };
            let earlier = self.unreadable.get(&whole_key(&object));
            let unreadable = StillUnreadable {
                since: earlier.map_or(at, |earlier| earlier.since),
                unreadable: Unreadable {
                    object: object.clone(),
                    message: unreadable.message,
                },
                pass: self.passes,
            };
            self.unreadable.insert(whole_key(&object), unreadable);
            object
        })
    }

    /// The key of an object: its uid, so that a profile differs from an earlier one of the same name.
    fn key_of(&self, object: &ObjectRef) -> Arc<str> {
        if object.uid.is_empty() {
            return object.path().into();
        }
        // No hub gives two objects one uid, but if one does, neither may hide the other.
        let is_other_name = self.places.get(&*object.uid).is_some_and(|place| {
            let metadata = &self.histories[place.index].last().metadata();
            !object.name.is_empty()
                && (&*metadata.name, &*metadata.namespace) != (&*object.name, &*object.namespace)
        });
        if is_other_name {
            whole_key(object).into()
        } else {
            (*object.uid).into()
        }
    }

    /// The key of a profile, without building an `ObjectRef`: there may be a hundred thousand.
    fn key(&self, object: &T) -> Arc<str> {
        let metadata = object.metadata();
        let is_known = |place: &HistoryPlace| {
            let metadata_of_place = &self.histories[place.index].last().metadata();
            (&metadata_of_place.name, &metadata_of_place.namespace) == (&metadata.name, &metadata.namespace)
        };
        match self.places.get(&metadata.uid) {
            _ if metadata.uid.is_empty() => self.key_of(&object.object_ref()),
            Some(place) if !is_known(place) => self.key_of(&object.object_ref()),
            _ => Arc::clone(&metadata.uid),
        }
    }

    /// A profile that was unreadable is readable again, or gone: its versions until now were missed.
    fn missed(&mut self, object: &ObjectRef, at: Timestamp) {
        if let Some(one) = self.unreadable.remove(&whole_key(object)) {
            self.gaps.push(Gap {
                object: Some(object.clone()),
                ..one.gap::<T>(at)
            });
        }
    }

    /// A restored backup may bring back an object that was deleted. What became of it meanwhile was missed.
    fn put_back(&mut self, object: &T, at: Timestamp) {
        let Some(place) = self.places.get(&self.key(object)) else {
            return;
        };
        let history = &mut self.histories[place.index];
        if let Some(deleted) = history.deleted.take() {
            history.deleted_version = None;
            self.alive += 1;
            let words = "it was deleted, and a restored backup of the hub brought it back";
            self.gaps.push(Gap {
                kind: T::WATCHED,
                from: Some(deleted),
                until: Some(at),
                object: Some(object.object_ref()),
                reason: Reason::new(ReasonId::HubRestored, words),
            });
        }
    }

    /// Adds a version to its profile's history, unless the history has it. In a new history of the hub, a known resourceVersion
    /// does not identify the version.
    fn put(&mut self, mut object: T, origin: Origin, at: Timestamp, is_of_new_history: bool) {
        let key = self.key(&object);
        if !self.unreadable.is_empty() {
            self.missed(&object.object_ref(), at);
        }
        if let Some(place) = self.places.get(&key) {
            let history = &mut self.histories[place.index];
            let is_known = if is_of_new_history {
                *history.last() == object
            } else {
                history.last().metadata().resource_version == object.metadata().resource_version
                    || is_repeated(history, &object)
            };
            if is_known {
                return;
            }
            self.new_versions += 1;
            object.share_with(history.last());
            history.versions.push(Version { at: Some(at), object });
            return;
        }
        if let Some(before) = self.histories.last() {
            // Many profiles of one manager have parts in common.
            object.share_with(before.last());
        }
        let place = HistoryPlace {
            index: self.histories.len(),
            pass: self.passes,
        };
        self.places.insert(key, place);
        self.alive += 1;
        self.new_versions += 1;
        self.histories.push(History {
            origin,
            // Capacity for one: most profiles never change, and there may be a hundred thousand.
            versions: vec![Version { at: Some(at), object }],
            deleted: None,
            deleted_version: None,
        });
    }
}

/// Whether an older version comes again: a hub may begin a watch too early. Only an older one can, so that the
/// versions of a long history are not searched for each new one.
fn is_repeated<T: Tracked>(history: &History<T>, object: &T) -> bool {
    let number = |object: &T| object.metadata().resource_version.parse::<u64>().ok();
    number(object) < number(history.last())
        && history
            .versions
            .iter()
            .rev()
            .any(|version| version.object == *object)
}

/// The key of an object by uid and path.
fn whole_key(object: &ObjectRef) -> String {
    format!("{} {}", object.uid, object.path())
}

/// The identity of an object, or the part of it that can be read.
fn identity<T: Tracked>(json: &[u8]) -> ObjectRef {
    ObjectRef {
        kind: T::KIND.to_owned(),
        ..lenient::identity(json, T::KIND)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(record: &mut HistoryRecord, resource_version: &str, kubernetes: &str) {
        let profile = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": resource_version},
            "status": {"version": {"kubernetes": kubernetes}},
        });
        let at = Timestamp::UNIX_EPOCH;
        record.changed(profile.to_string().as_bytes(), Origin::Created, at);
    }

    #[test]
    fn versions_that_are_told_again_are_kept_once() {
        let mut record = HistoryRecord::<ClusterProfile>::default();
        for _ in 0..3 {
            for (resource_version, kubernetes) in [("9", "v1"), ("10", "v2"), ("11", "v1")] {
                put(&mut record, resource_version, kubernetes);
            }
        }
        assert_eq!(record.history("u").expect("a history").versions.len(), 3);
        // As after a restored backup: an old number, and something new.
        put(&mut record, "10", "v3");
        assert_eq!(record.history("u").expect("a history").versions.len(), 4);
    }
}
