//! Objects that are in a dump twice: in one version, as in overlapping dumps, or in two, of which neither counts.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

use super::super::place::Place;
use crate::{Evidence, Namespace, ObjectRef, Secret, Tracked, Unreadable, api::names};

/// Kind, namespace, name.
pub(super) type Key = (&'static str, Arc<str>, Arc<str>);

/// A version of an object.
struct Seen {
    /// Its place among the objects of its kind.
    index: usize,
    /// Its file.
    file: usize,
    /// True if the dump also holds another version.
    is_ambiguous: bool,
}

/// What identifies a version of an object.
#[derive(PartialEq)]
pub(super) struct VersionOf<'a> {
    uid: &'a str,
    resource_version: &'a str,
}

impl<'a> VersionOf<'a> {
    pub fn tracked(object: &'a impl Tracked) -> Self {
        let metadata = object.metadata();
        Self {
            uid: &metadata.uid,
            resource_version: &metadata.resource_version,
        }
    }

    pub fn namespace(namespace: &'a Namespace) -> Self {
        Self {
            uid: &namespace.uid,
            resource_version: &namespace.resource_version,
        }
    }

    pub fn secret(secret: &'a Secret) -> Self {
        Self {
            uid: &secret.uid,
            resource_version: &secret.resource_version,
        }
    }
}

/// The objects of a dump by their names.
#[derive(Default)]
pub(super) struct Duplicates {
    seen: HashMap<Key, Seen>,
    /// The files so far.
    files: Vec<String>,
}

impl Duplicates {
    /// Begins with another file.
    pub fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// The kinds of all objects.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.seen.keys().map(|(kind, _, _)| *kind)
    }

    /// Adds an object, which will be the one at `next` of its kind. `is_same` says whether the one at an index is in the
    /// same version.
    ///
    /// # Errors
    /// When the name is known. Of two versions neither counts, as the newer one is unknown: the first time, that is
    /// returned, to be told.
    pub fn add(
        &mut self,
        key: Key,
        next: usize,
        resource_version: &str,
        is_same: impl Fn(usize) -> bool,
        place: Place<'_>,
    ) -> Result<(), Option<Box<Unreadable>>> {
        let mut seen = match self.seen.entry(key) {
            Entry::Vacant(free) => {
                free.insert(Seen {
                    index: next,
                    file: self.files.len().saturating_sub(1),
                    is_ambiguous: false,
                });
                return Ok(());
            }
            Entry::Occupied(taken) => taken,
        };
        let is_same = is_same(seen.get().index) && !resource_version.is_empty();
        if is_same || seen.get().is_ambiguous {
            return Err(None);
        }
        seen.get_mut().is_ambiguous = true;
        let (kind, namespace, name) = seen.key();
        let file = self.files.get(seen.get().file).map_or("", String::as_str);
        Err(Some(Box::new(Unreadable {
            object: ObjectRef {
                kind: (*kind).to_owned(),
                namespace: namespace.to_string(),
                name: name.to_string(),
                ..ObjectRef::default()
            },
            message: format!("it is in the dump twice, in {file} and again at {place}: keep the newer one"),
        })))
    }

    /// Removes objects that are in the dump in two versions.
    pub fn withdraw_from(&self, evidence: &mut Evidence) {
        let ambiguous: BTreeSet<(&str, usize)> = self
            .seen
            .iter()
            .filter(|(_, seen)| seen.is_ambiguous)
            .map(|((kind, _, _), seen)| (*kind, seen.index))
            .collect();
        if ambiguous.is_empty() {
            return;
        }
        keep(&mut evidence.profiles, |index| {
            !ambiguous.contains(&(names::KIND, index))
        });
        keep(&mut evidence.slices, |index| {
            !ambiguous.contains(&(names::PLACEMENT_KIND, index))
        });
        keep(&mut evidence.namespaces, |index| {
            !ambiguous.contains(&("Namespace", index))
        });
        keep(&mut evidence.secrets, |index| {
            !ambiguous.contains(&("Secret", index))
        });
    }
}

/// Keeps the entries at those places.
fn keep<T>(list: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut index = 0..;
    list.retain(|_| index.next().is_none_or(&is_kept));
}
