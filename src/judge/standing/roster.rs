//! Where each profile stands in the evidence.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use evidence::{Evidence, ObjectKey, ProfileHistory};

/// The number of a history, in the order of the evidence. It stays when the evidence drops others.
pub(super) type Serial = u64;

/// The histories of profiles in the evidence, by number.
#[derive(Debug, Default)]
pub(super) struct Roster {
    entries: BTreeMap<Serial, Entry>,
    by_key: HashMap<ObjectKey, Vec<Serial>>,
    by_namespace: HashMap<Arc<str>, BTreeSet<Serial>>,
    next: Serial,
    /// How many histories of the evidence were entered.
    seen: usize,
}

#[derive(Debug)]
struct Entry {
    place: usize,
    key: ObjectKey,
    uid: Arc<str>,
}

/// The histories that are judged anew, and those that the evidence dropped.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) changed: BTreeSet<Serial>,
    pub(super) gone: Vec<Serial>,
}

impl Roster {
    /// The histories of these names, and all that are new. None if the evidence does not have the others in the order in
    /// which it had them.
    pub(super) fn changed(&mut self, evidence: &Evidence, keys: &BTreeSet<ObjectKey>) -> Option<Changed> {
        let mut changed = Changed::default();
        let known = |key| self.by_key.get(key).into_iter().flatten();
        let is_there = |serial: &Serial| {
            let entry = &self.entries[serial];
            let history = evidence.profiles.get(entry.place);
            history.is_some_and(|history| entry.is_of(history))
        };
        let is_moved = evidence.profiles.len() < self.seen || !keys.iter().flat_map(known).all(is_there);
        if is_moved {
            changed.gone = self.move_to(evidence)?;
        }
        for place in self.seen..evidence.profiles.len() {
            changed.changed.insert(self.enter(evidence, place));
        }
        let of_keys = keys.iter().filter_map(|key| self.by_key.get(key));
        changed.changed.extend(of_keys.flatten());
        Some(changed)
    }

    /// All histories, entered anew.
    pub(super) fn renew(&mut self, evidence: &Evidence) -> Changed {
        *self = Self::default();
        let places = 0..evidence.profiles.len();
        Changed {
            changed: places.map(|place| self.enter(evidence, place)).collect(),
            gone: Vec::new(),
        }
    }

    /// The history of that number.
    pub(super) fn history<'e>(&self, evidence: &'e Evidence, serial: Serial) -> &'e ProfileHistory {
        &evidence.profiles[self.entries[&serial].place]
    }

    /// The histories of the profiles in a namespace.
    pub(super) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = Serial> {
        self.by_namespace.get(namespace).into_iter().flatten().copied()
    }

    fn enter(&mut self, evidence: &Evidence, place: usize) -> Serial {
        let serial = self.next;
        let last = evidence.profiles[place].last();
        let key = ObjectKey::of(last);
        self.by_key.entry(key.clone()).or_default().push(serial);
        let namespace = Arc::clone(&last.metadata.namespace);
        self.by_namespace.entry(namespace).or_default().insert(serial);
        let uid = Arc::clone(&last.metadata.uid);
        self.entries.insert(serial, Entry { place, key, uid });
        self.next += 1;
        self.seen = place + 1;
        serial
    }

    /// Finds the places of all histories anew. Returns those that are no more; none if the others are in another order.
    fn move_to(&mut self, evidence: &Evidence) -> Option<Vec<Serial>> {
        let mut known = self.entries.iter_mut().peekable();
        let mut gone = Vec::new();
        self.seen = 0;
        for (place, history) in evidence.profiles.iter().enumerate() {
            while let Some((serial, _)) = known.next_if(|(_, entry)| !entry.is_of(history)) {
                gone.push(*serial);
            }
            let Some((_, entry)) = known.next() else {
                break;
            };
            entry.place = place;
            self.seen = place + 1;
        }
        gone.extend(known.map(|(serial, _)| *serial));
        let is_new = |history: &ProfileHistory| {
            let key = ObjectKey::of(history.last());
            let mut same = self.by_key.get(&key).into_iter().flatten();
            !same.any(|serial| self.entries[serial].is_of(history))
        };
        let are_new = evidence.profiles[self.seen..].iter().all(is_new);
        for serial in &gone {
            self.leave(*serial);
        }
        are_new.then_some(gone)
    }

    fn leave(&mut self, serial: Serial) {
        let Some(entry) = self.entries.remove(&serial) else {
            return;
        };
        if let Some(of_key) = self.by_key.get_mut(&entry.key) {
            of_key.retain(|other| *other != serial);
            if of_key.is_empty() {
                self.by_key.remove(&entry.key);
            }
        }
        if let Some(of_namespace) = self.by_namespace.get_mut(entry.key.namespace.as_str()) {
            of_namespace.remove(&serial);
            if of_namespace.is_empty() {
                self.by_namespace.remove(entry.key.namespace.as_str());
            }
        }
    }
}

impl Entry {
    fn is_of(&self, history: &ProfileHistory) -> bool {
        let metadata = &history.last().metadata;
        *self.uid == *metadata.uid
            && self.key.name == *metadata.name
            && self.key.namespace == *metadata.namespace
    }
}
