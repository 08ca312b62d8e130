//! The histories of profiles, as lists and watches tell of them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    api::{ClusterProfile, names},
    evidence::{Gap, ObjectRef, Origin, ProfileHistory, Unreadable, Version, unfit},
};

/// What is known of the profiles so far.
#[derive(Default)]
pub(super) struct Record {
    histories: Vec<ProfileHistory>,
    /// Where each uid's history is, and the last pass over the whole inventory that met it.
    places: HashMap<Arc<str>, Place>,
    passes: u64,
    /// By the same keys.
    unreadable: BTreeMap<Arc<str>, Misfit>,
    /// What was missed of the profiles.
    pub gaps: Vec<Gap>,
    /// How many changes the watch has told of.
    pub writes: u64,
    alive: usize,
}

struct Place {
    index: usize,
    pass: u64,
}

/// An object that does not fit, and the last pass that met it.
struct Misfit {
    unreadable: Unreadable,
    pass: u64,
}

/// One pass over the whole inventory (of one namespace, where it is confined to one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    number: u64,
    /// How profiles that turn up in it came into view.
    pub origin: Origin,
}

/// What a record becomes in the evidence.
pub(super) struct Recorded {
    pub profiles: Vec<ProfileHistory>,
    pub gaps: Vec<Gap>,
    pub unreadable: Vec<Unreadable>,
}

impl Record {
    /// Begins a pass over the whole inventory.
    pub fn begin(&mut self, origin: Origin) -> Pass {
        self.passes += 1;
        Pass {
            number: self.passes,
            origin,
        }
    }

    /// A profile that the pass has met. Gives its resourceVersion.
    pub fn met(&mut self, json: &[u8], pass: Pass, at: Timestamp) -> String {
        let (key, resource_version) = match self.read(json) {
            Ok(profile) => {
                let known = (key(&profile), profile.metadata.resource_version.clone());
                self.put(profile, pass.origin, at);
                known
            }
            Err(object) => (key_of(&object), object.resource_version),
        };
        if let Some(place) = self.places.get_mut(&key) {
            place.pass = pass.number;
        }
        if let Some(misfit) = self.unreadable.get_mut(&key) {
            misfit.pass = pass.number;
        }
        resource_version
    }

    /// Ends a pass: what it has not met is gone.
    pub fn end(&mut self, pass: Pass, namespace: Option<&str>, at: Timestamp) {
        for place in self.places.values() {
            let history = &mut self.histories[place.index];
            let concerned = namespace.is_none_or(|name| name == &*history.last().metadata.namespace);
            if concerned && place.pass < pass.number && history.deleted.is_none() {
                history.deleted = Some(at);
                self.alive -= 1;
            }
        }
        self.unreadable.retain(|_, misfit| {
            let concerned = namespace.is_none_or(|name| name == misfit.unreadable.object.namespace);
            !concerned || misfit.pass >= pass.number
        });
    }

    /// The watch tells of a creation or a change. Gives the resourceVersion.
    pub fn changed(&mut self, json: &[u8], origin: Origin, at: Timestamp) -> String {
        self.writes += 1;
        match self.read(json) {
            Ok(profile) => {
                let resource_version = profile.metadata.resource_version.clone();
                self.put(profile, origin, at);
                resource_version
            }
            Err(object) => object.resource_version,
        }
    }

    /// The watch tells of a deletion. Gives the resourceVersion.
    pub fn deleted(&mut self, json: &[u8], at: Timestamp) -> String {
        self.writes += 1;
        let object = identity(json);
        let key = key_of(&object);
        self.unreadable.remove(&key);
        if let Some(place) = self.places.get(&key) {
            let history = &mut self.histories[place.index];
            if history.deleted.is_none() {
                history.deleted = Some(at);
                self.alive -= 1;
            }
        }
        object.resource_version
    }

    /// How many profiles there have been so far.
    pub fn len(&self) -> usize {
        self.histories.len()
    }

    /// The profiles, in the order in which they came into view, but for the first so many.
    pub fn after(&self, count: usize) -> &[ProfileHistory] {
        self.histories.get(count..).unwrap_or_default()
    }

    /// The profile of that uid.
    pub fn history(&self, uid: &str) -> Option<&ProfileHistory> {
        self.places.get(uid).map(|place| &self.histories[place.index])
    }

    /// How many profiles are there.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Takes all that was recorded.
    pub fn take(&mut self) -> Recorded {
        let record = std::mem::take(self);
        Recorded {
            profiles: record.histories,
            gaps: record.gaps,
            unreadable: record
                .unreadable
                .into_values()
                .map(|misfit| misfit.unreadable)
                .collect(),
        }
    }

    /// Reads a profile, or notes that it does not fit, and gives its identity.
    fn read(&mut self, json: &[u8]) -> Result<ClusterProfile, ObjectRef> {
        serde_json::from_slice(json).map_err(|_| {
            let object = identity(json);
            let unreadable = Unreadable {
                object: object.clone(),
                message: misfit(json),
            };
            let pass = self.passes;
            self.unreadable
                .insert(key_of(&object), Misfit { unreadable, pass });
            object
        })
    }

    /// Adds a version to its profile's history, unless it is the last one again.
    fn put(&mut self, mut profile: ClusterProfile, origin: Origin, at: Timestamp) {
        let key = key(&profile);
        if let Some(place) = self.places.get(&key) {
            let history = &mut self.histories[place.index];
            if history.last().metadata.resource_version == profile.metadata.resource_version {
                return;
            }
            profile.share_with(history.last());
            history.versions.push(Version { at, profile });
            return;
        }
        if let Some(before) = self.histories.last() {
            // Many profiles of one manager have parts in common.
            profile.share_with(before.last());
        }
        let place = Place {
            index: self.histories.len(),
            pass: self.passes,
        };
        self.places.insert(key, place);
        self.alive += 1;
        self.histories.push(ProfileHistory {
            origin,
            // Room for one: most never change, and there may be a hundred thousand.
            versions: vec![Version { at, profile }],
            deleted: None,
        });
    }
}

/// What tells a profile from one of the same name that was there before.
fn key(profile: &ClusterProfile) -> Arc<str> {
    match &*profile.metadata.uid {
        "" => key_of(&ObjectRef::from(profile)),
        _ => Arc::clone(&profile.metadata.uid),
    }
}

fn key_of(object: &ObjectRef) -> Arc<str> {
    match object.uid.as_str() {
        "" => object.path().into(),
        uid => uid.into(),
    }
}

/// What does not fit, without quoting it.
fn misfit(json: &[u8]) -> String {
    let read = serde_json::from_slice(json).map(|value| unfit::read_profile(&value));
    match read {
        Ok(Err(unreadable)) => unreadable.message,
        // Only the typed reading minds a key that is repeated.
        Ok(Ok(_)) => "a key is repeated".to_owned(),
        Err(_) => "it is no JSON, or nests too deep".to_owned(),
    }
}

/// Which object it is, as far as can be made out.
fn identity(json: &[u8]) -> ObjectRef {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Object {
        metadata: Value,
    }
    let object: Object = serde_json::from_slice(json).unwrap_or_default();
    let text = |key: &str| object.metadata[key].as_str().unwrap_or_default().to_owned();
    ObjectRef {
        kind: names::KIND.to_owned(),
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
    }
}
