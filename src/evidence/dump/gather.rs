//! Gathers the objects of a dump into evidence.

mod asked;
mod duplicates;
mod notes;
mod secrets;

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use asked::Held;
use duplicates::{Duplicates, Key, VersionOf};
use notes::{Ignored, unknown_versions};
use serde_json::Value;

use super::{
    DumpError,
    item::{Body, Found, Item, Partial},
    place::Place,
};
use crate::{
    Asked, Digester, Evidence, FORMAT, Gap, History, Input, Kind, LimitError, Limits, ObjectRef, Origin,
    Tracked, Unreadable, Version,
    api::{ClusterProfile, ObjectKind, PlacementDecision, names},
    crd, lenient,
    lenient::Untyped,
    runs::{left_out, of_other_runs},
};

/// How many lists are told that go on elsewhere.
const PARTIAL: usize = 1000;

/// Gathers the objects of a dump one by one.
pub(super) struct Gatherer<'a> {
    evidence: Evidence,
    digester: &'a Digester,
    duplicates: Duplicates,
    /// The versions of the API that the profiles are in.
    versions: BTreeSet<String>,
    /// The versions of the API that the slices are in.
    placement_versions: BTreeSet<String>,
    /// The number of YAML documents so far, and of objects without a kind.
    pub documents: usize,
    kindless: usize,
    ignored: Ignored,
    held: Held,
    /// Why the dump lacks objects of some kinds.
    partial: Vec<(Kind, String)>,
    /// The first flaw that made part of the dump unusable.
    failure: Option<DumpError>,
}

impl<'a> Gatherer<'a> {
    pub fn new(digester: &'a Digester) -> Self {
        Self {
            evidence: Evidence::default(),
            digester,
            duplicates: Duplicates::default(),
            versions: BTreeSet::new(),
            placement_versions: BTreeSet::new(),
            documents: 0,
            kindless: 0,
            ignored: Ignored::default(),
            held: Held::default(),
            partial: Vec::new(),
            failure: None,
        }
    }

    /// Begins with another file.
    pub fn begin_file(&mut self, name: &str) {
        self.duplicates.begin_file(name);
    }

    /// The limit that is exceeded so far, if so.
    pub fn exceeded(&self, limits: &Limits) -> Option<LimitError> {
        let unreadable = self.evidence.unreadable.len();
        if unreadable > limits.unreadable {
            return Some(LimitError::Unreadable(limits.unreadable));
        }
        if self.kindless > limits.unreadable {
            return Some(LimitError::Kindless(limits.unreadable));
        }
        (self.documents > limits.documents).then_some(LimitError::Documents(limits.documents))
    }

    /// Takes one finding.
    pub fn take(&mut self, found: Found<'_>) {
        match found {
            Found::Item(item) => {
                self.take_item(&item);
                if let Body::NoObject = item.body {
                    self.failure.get_or_insert_with(|| item.place.no_object());
                }
            }
            Found::Misfit(why) => {
                self.evidence.unreadable.push(Unreadable {
                    object: ObjectRef::default(),
                    message: why.to_string(),
                });
                self.failure.get_or_insert(why);
            }
            Found::Partial(partial) => self.take_partial(&partial),
        }
    }

    /// Notes that the rest of a list is missing.
    fn take_partial(&mut self, partial: &Partial<'_>) {
        let rest = match partial.remaining {
            Some(1) => " (1 more object)".to_owned(),
            Some(count) => format!(" ({count} more objects)"),
            None => String::new(),
        };
        let reason = format!(
            "{} is only a part of a list{rest}: dump the whole list, without a limit",
            partial.place
        );
        let kinds: &[Kind] = match &*partial.items.kind {
            names::KIND => &[Kind::Inventory],
            names::PLACEMENT_KIND => &[Kind::PlacementDecisions],
            "Namespace" => &[Kind::Namespaces],
            "Secret" => &[Kind::Secrets],
            // Its rest may hold any kind.
            "" => &[
                Kind::Inventory,
                Kind::PlacementDecisions,
                Kind::Namespaces,
                Kind::Secrets,
            ],
            _ => &[],
        };
        self.held.namespaces |= kinds == [Kind::Namespaces];
        self.held.slices |= kinds == [Kind::PlacementDecisions];
        self.held.secrets |= kinds == [Kind::Secrets];
        if self.partial.len() < PARTIAL {
            self.partial
                .extend(kinds.iter().map(|kind| (*kind, reason.clone())));
        }
    }

    fn take_item(&mut self, item: &Item<'_>) {
        let (group, version) = item
            .types
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &item.types.api_version));
        match (group, &*item.types.kind) {
            (names::GROUP, names::KIND) => {
                self.versions.insert(version.to_owned());
                self.take_tracked::<ClusterProfile>(item);
            }
            (names::GROUP, names::PLACEMENT_KIND) => {
                self.placement_versions.insert(version.to_owned());
                self.held.slices = true;
                self.take_tracked::<PlacementDecision>(item);
            }
            ("", kind @ (names::KIND | names::PLACEMENT_KIND)) if version.is_empty() => {
                self.give_up(item, kind, "apiVersion is missing or not text");
            }
            (names::GROUP, "") => self.give_up(item, "", "kind is missing or not text"),
            ("", "Namespace") => self.take_namespace(item),
            ("", "Secret") => self.take_secret(item),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => self.take_crd(item),
            ("", "") => match &item.body {
                Body::NoObject => self.give_up(item, "", ""),
                _ => {
                    self.kindless += 1;
                    self.ignored.add("object without a kind");
                }
            },
            ("", kind) => self.ignored.add(kind),
            (group, kind) => self.ignored.add(&format!("{kind}.{group}")),
        }
    }

    /// Takes a profile or a slice.
    fn take_tracked<T: Tracked>(&mut self, item: &Item<'_>) {
        match item.body.untyped().map(T::read) {
            Some(Ok(mut object)) => {
                let api_version = object.api_version_mut();
                if api_version.is_empty() {
                    *api_version = (*item.types.api_version).into();
                }
                self.add(object, item.place);
            }
            Some(Err(unreadable)) => self.give_up(item, T::KIND, &unreadable.message),
            None => self.give_up(item, T::KIND, ""),
        }
    }

    /// Takes a profile that is already typed, with its own API version.
    pub fn take_typed(&mut self, profile: ClusterProfile, place: Place<'_>) {
        let version = profile.api_version.rsplit('/').next().unwrap_or_default();
        if !self.versions.contains(version) {
            self.versions.insert(version.to_owned());
        }
        self.add(profile, place);
    }

    fn add<T: Tracked>(&mut self, mut object: T, place: Place<'_>) {
        let metadata = object.metadata();
        let key = (
            T::KIND,
            Arc::clone(&metadata.namespace),
            Arc::clone(&metadata.name),
        );
        let known = |evidence: &Evidence, index: usize| {
            VersionOf::tracked(T::histories(evidence)[index].last()) == VersionOf::tracked(&object)
        };
        let version = &metadata.resource_version;
        let next = T::histories(&self.evidence).len();
        if !self.is_new(key, next, version, known, place) {
            return;
        }
        self.held.writers |= metadata.writers.is_some();
        let histories = T::histories_mut(&mut self.evidence);
        if let Some(neighbour) = histories.last() {
            object.share_with(neighbour.last());
        }
        histories.push(History {
            origin: Origin::Listed,
            versions: vec![Version { at: None, object }],
            deleted: None,
            deleted_version: None,
        });
    }

    fn take_namespace(&mut self, item: &Item<'_>) {
        self.held.namespaces = true;
        match item.body.untyped().map(lenient::namespace) {
            Some(Ok(namespace)) => {
                let key = ("Namespace", "".into(), namespace.name.as_str().into());
                let known = |evidence: &Evidence, index: usize| {
                    VersionOf::namespace(&evidence.namespaces[index]) == VersionOf::namespace(&namespace)
                };
                let (next, version) = (self.evidence.namespaces.len(), &namespace.resource_version);
                if self.is_new(key, next, version, known, item.place) {
                    self.evidence.namespaces.push(namespace);
                }
            }
            Some(Err(unreadable)) => self.give_up(item, "Namespace", &unreadable.message),
            None => self.give_up(item, "Namespace", ""),
        }
    }

    fn take_crd(&mut self, item: &Item<'_>) {
        let crd = match item.body.untyped() {
            Some(Untyped::Value(value)) => Cow::Borrowed(value),
            Some(Untyped::Text(json)) => Cow::Owned(serde_json::from_slice(json).unwrap_or_default()),
            None => Cow::Owned(Value::Null),
        };
        let served = |kind| crd::served_versions(&crd, kind);
        let hub = &mut self.evidence.header.hub;
        match (
            served(ObjectKind::ClusterProfile),
            served(ObjectKind::PlacementDecision),
        ) {
            (served, _) if !served.is_empty() => hub.served = served,
            (_, served) if !served.is_empty() => hub.placement_served = served,
            _ => self.ignored.add("CustomResourceDefinition of another kind"),
        }
    }

    /// Returns `true` if the name is new: the object will be the one at `next`. Overlapping dumps may repeat a version:
    /// `is_same` says whether the object at an index is in the same. Of two versions neither counts.
    fn is_new(
        &mut self,
        key: Key,
        next: usize,
        resource_version: &str,
        is_same: impl Fn(&Evidence, usize) -> bool,
        place: Place<'_>,
    ) -> bool {
        let is_same = |index| is_same(&self.evidence, index);
        let added = self.duplicates.add(key, next, resource_version, is_same, place);
        let twice = added.err();
        let is_new = twice.is_none();
        self.evidence
            .unreadable
            .extend(twice.flatten().map(|twice| *twice));
        is_new
    }

    /// Records an object that cannot be judged.
    fn give_up(&mut self, item: &Item<'_>, kind: &str, message: &str) {
        let unreadable = match item.body.untyped() {
            None => Unreadable {
                object: ObjectRef {
                    kind: kind.to_owned(),
                    ..ObjectRef::default()
                },
                message: item.place.no_object().to_string(),
            },
            Some(untyped) => {
                let object = ObjectRef {
                    kind: kind.to_owned(),
                    ..lenient::identity(untyped, kind)
                };
                let message = if object.name.is_empty() {
                    format!("{message} ({})", item.place)
                } else {
                    message.to_owned()
                };
                Unreadable { object, message }
            }
        };
        self.evidence.unreadable.push(unreadable);
    }

    /// Returns the evidence.
    ///
    /// # Errors
    /// When the dump holds other kinds but no ClusterProfile, or only unreadable objects.
    pub fn finish(mut self, name: &str) -> Result<Input, DumpError> {
        self.duplicates.withdraw_from(&mut self.evidence);
        self.drop_strangers();
        if self.evidence.profiles.is_empty() && self.evidence.slices.is_empty() {
            if let Some(failure) = self.failure {
                return Err(failure);
            }
            let mut unreadable = self.evidence.unreadable.iter();
            // Of a hub without profiles, kubectl prints an empty list, or the other kinds that were asked for. Anything
            // else suggests the wrong file.
            let is_other = !self.ignored.is_empty();
            if is_other
                && !unreadable.any(|unreadable| {
                    matches!(&*unreadable.object.kind, "" | names::KIND | names::PLACEMENT_KIND)
                })
            {
                return Err(DumpError::NoProfile {
                    name: name.to_owned(),
                    found: self.ignored.counted_with(self.duplicates.kinds()),
                });
            }
        }
        let mut notes = Vec::from_iter(self.ignored.note());
        notes.extend(unknown_versions(&self.versions, names::KIND));
        notes.extend(unknown_versions(&self.placement_versions, names::PLACEMENT_KIND));
        let asked = self.held.asked(self.has_profiles());
        let mut evidence = self.evidence;
        let partial = self.partial.into_iter();
        let partial = partial.filter(|(kind, _)| asked.get(kind) == Some(&Asked::Yes));
        evidence
            .gaps
            .extend(partial.map(|(kind, reason)| Gap::of(kind, reason)));
        let header = &mut evidence.header;
        header.format = FORMAT.to_owned();
        header.suite_version = env!("CARGO_PKG_VERSION").to_owned();
        let file = name
            .rsplit(['/', '\\'])
            .find(|part| !part.is_empty())
            .unwrap_or(name);
        header.hub.source = format!("dump {file}");
        header.hub.api_version = self.versions.into_iter().next_back();
        header.hub.placement_version = self.placement_versions.into_iter().next_back();
        header.asked = asked;
        header.other_runs = of_other_runs(&evidence.profiles, None);
        notes.extend(left_out(&header.other_runs));
        Ok(Input { evidence, notes })
    }

    /// Whether it holds profiles, or what may be one.
    fn has_profiles(&self) -> bool {
        let mut unreadable = self.evidence.unreadable.iter();
        !self.evidence.profiles.is_empty()
            || unreadable.any(|unreadable| matches!(&*unreadable.object.kind, "" | names::KIND))
    }
}
