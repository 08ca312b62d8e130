//! Gathers the objects of a dump into evidence.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry},
    sync::Arc,
};

use serde_json::Value;

use super::{
    DumpError, NO_AUDIT_LOG,
    item::{Body, Found, Item, Partial},
    place::Place,
};
use crate::{
    Asked, Digester, Evidence, FORMAT, Gap, History, Input, Kind, LimitError, Limits, Namespace, ObjectRef,
    Origin, Secret, Tracked, Unreadable, Version,
    api::{ClusterProfile, ObjectKind, PlacementDecision, names},
    crd, lenient,
    lenient::Untyped,
    runs::{left_out, of_other_runs},
};

/// How many ignored kinds are told apart.
const KINDS: usize = 1000;
/// The most characters of the longest kind with its group.
const LONGEST_KIND: usize = 320;
/// How many lists are told that go on elsewhere.
const PARTIAL: usize = 1000;

/// Gathers the objects of a dump one by one.
pub(super) struct Gatherer<'a> {
    evidence: Evidence,
    digester: &'a Digester,
    seen: HashMap<Key, Seen>,
    /// The files so far.
    files: Vec<String>,
    /// The versions of the API that the profiles are in.
    versions: BTreeSet<String>,
    /// The versions of the API that the slices are in.
    placement_versions: BTreeSet<String>,
    /// The number of YAML documents so far, and of objects without a kind.
    pub documents: usize,
    kindless: usize,
    /// Ignored objects, counted by kind.
    ignored: BTreeMap<String, usize>,
    has_namespaces: bool,
    has_slices: bool,
    has_secrets: bool,
    has_unlabelled_secrets: bool,
    has_writers: bool,
    /// Why the dump lacks objects of some kinds.
    partial: Vec<(Kind, String)>,
    /// The first flaw that made part of the dump unusable.
    failure: Option<DumpError>,
}

/// Kind, namespace, name.
type Key = (&'static str, Arc<str>, Arc<str>);

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
struct VersionOf<'a> {
    uid: &'a str,
    resource_version: &'a str,
}

impl<'a> VersionOf<'a> {
    fn tracked(object: &'a impl Tracked) -> Self {
        let metadata = object.metadata();
        Self {
            uid: &metadata.uid,
            resource_version: &metadata.resource_version,
        }
    }

    fn namespace(namespace: &'a Namespace) -> Self {
        Self {
            uid: &namespace.uid,
            resource_version: &namespace.resource_version,
        }
    }

    fn secret(secret: &'a Secret) -> Self {
        Self {
            uid: &secret.uid,
            resource_version: &secret.resource_version,
        }
    }
}

impl<'a> Gatherer<'a> {
    pub fn new(digester: &'a Digester) -> Self {
        Self {
            evidence: Evidence::default(),
            digester,
            seen: HashMap::new(),
            files: Vec::new(),
            versions: BTreeSet::new(),
            placement_versions: BTreeSet::new(),
            documents: 0,
            kindless: 0,
            ignored: BTreeMap::new(),
            has_namespaces: false,
            has_slices: false,
            has_secrets: false,
            has_unlabelled_secrets: false,
            has_writers: false,
            partial: Vec::new(),
            failure: None,
        }
    }

    /// Begins with another file.
    pub fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
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
        self.has_namespaces |= kinds == [Kind::Namespaces];
        self.has_slices |= kinds == [Kind::PlacementDecisions];
        self.has_secrets |= kinds == [Kind::Secrets];
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
                self.take_profile(item);
            }
            (names::GROUP, names::PLACEMENT_KIND) => {
                self.placement_versions.insert(version.to_owned());
                self.take_slice(item);
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
                    self.ignore("object without a kind".to_owned());
                }
            },
            ("", kind) => self.ignore(kind.to_owned()),
            (group, kind) => self.ignore(format!("{kind}.{group}")),
        }
    }

    /// Takes a profile or a slice.
    fn take_tracked<T: Tracked>(&mut self, item: &Item<'_>) -> Option<T> {
        match item.body.untyped().map(T::read) {
            Some(Ok(object)) => return Some(object),
            Some(Err(unreadable)) => self.give_up(item, T::KIND, &unreadable.message),
            None => self.give_up(item, T::KIND, ""),
        }
        None
    }

    fn take_profile(&mut self, item: &Item<'_>) {
        if let Some(mut profile) = self.take_tracked::<ClusterProfile>(item) {
            if profile.api_version.is_empty() {
                profile.api_version = (*item.types.api_version).into();
            }
            self.add(profile, item.place);
        }
    }

    fn take_slice(&mut self, item: &Item<'_>) {
        self.has_slices = true;
        if let Some(mut slice) = self.take_tracked::<PlacementDecision>(item) {
            if slice.api_version.is_empty() {
                slice.api_version = (*item.types.api_version).into();
            }
            self.add(slice, item.place);
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
        self.has_writers |= metadata.writers.is_some();
        let histories = T::histories_mut(&mut self.evidence);
        if let Some(neighbour) = histories.last() {
            object.share_with(neighbour.last());
        }
        histories.push(History {
            origin: Origin::Listed,
            versions: vec![Version { at: None, object }],
            deleted: None,
        });
    }

    fn take_namespace(&mut self, item: &Item<'_>) {
        self.has_namespaces = true;
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

    fn take_secret(&mut self, item: &Item<'_>) {
        self.has_secrets = true;
        let mut fault = String::new();
        let value = match item.body.untyped() {
            Some(Untyped::Value(value)) => Some(Cow::Borrowed(value)),
            Some(Untyped::Text(json)) => {
                let parsed = serde_json::from_slice(json);
                let parsed = parsed.inspect_err(|error| fault = lenient::unparsable(json, error));
                parsed.ok().map(Cow::Owned)
            }
            None => None,
        };
        let is_unlabelled = value.as_ref().is_some_and(|value| {
            let labels = &value["metadata"]["labels"];
            // Malformed labels may be meant to include it.
            let may_hold_labels = labels.is_object() || labels.is_null();
            may_hold_labels && labels.get(names::LABEL_SECRET_PROFILE).is_none()
        });
        if is_unlabelled {
            self.has_unlabelled_secrets = true;
            let unlabelled = value.and_then(|value| self.digester.unlabelled(&value));
            self.evidence.unlabelled_secrets.extend(unlabelled);
            let label = names::LABEL_SECRET_PROFILE;
            return self.ignore(format!("Secret without the label {label}"));
        }
        match value.map(|value| self.digester.secret(&value)) {
            Some(Ok(secret)) => {
                let key = (
                    "Secret",
                    secret.namespace.as_str().into(),
                    secret.name.as_str().into(),
                );
                let known = |evidence: &Evidence, index: usize| {
                    VersionOf::secret(&evidence.secrets[index]) == VersionOf::secret(&secret)
                };
                let (next, version) = (self.evidence.secrets.len(), &secret.resource_version);
                if self.is_new(key, next, version, known, item.place) {
                    self.evidence.secrets.push(secret);
                }
            }
            Some(Err(unreadable)) => self.give_up(item, "Secret", &unreadable.message),
            None => self.give_up(item, "Secret", &fault),
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
            _ => self.ignore("CustomResourceDefinition of another kind".to_owned()),
        }
    }

    fn ignore(&mut self, what: String) {
        let mut what: String = what.chars().take(LONGEST_KIND).collect();
        if self.ignored.len() >= KINDS && !self.ignored.contains_key(&what) {
            what = "object of another kind".to_owned();
        }
        *self.ignored.entry(what).or_default() += 1;
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

    /// Returns `true` if the name is new: the object will be the one at `next`. Overlapping dumps may repeat a version:
    /// `is_same` says whether the object at an index is in the same. Of two versions neither counts, as the newer one is
    /// unknown.
    fn is_new(
        &mut self,
        key: Key,
        next: usize,
        resource_version: &str,
        is_same: impl Fn(&Evidence, usize) -> bool,
        place: Place<'_>,
    ) -> bool {
        let seen = match self.seen.entry(key) {
            Entry::Vacant(free) => {
                free.insert(Seen {
                    index: next,
                    file: self.files.len().saturating_sub(1),
                    is_ambiguous: false,
                });
                return true;
            }
            Entry::Occupied(taken) => taken,
        };
        let is_same = is_same(&self.evidence, seen.get().index);
        if (!is_same || resource_version.is_empty()) && !seen.get().is_ambiguous {
            let (kind, namespace, name) = seen.key();
            let file = self.files.get(seen.get().file).map_or("", String::as_str);
            self.evidence.unreadable.push(Unreadable {
                object: ObjectRef {
                    kind: (*kind).to_owned(),
                    namespace: namespace.to_string(),
                    name: name.to_string(),
                    ..ObjectRef::default()
                },
                message: format!(
                    "it is in the dump twice, in {file} and again at {place}: keep the newer one"
                ),
            });
            seen.into_mut().is_ambiguous = true;
        }
        false
    }

    /// Removes objects that are in the dump in two versions.
    fn withdraw(&mut self) {
        let ambiguous: BTreeSet<(&str, usize)> = self
            .seen
            .iter()
            .filter(|(_, seen)| seen.is_ambiguous)
            .map(|((kind, _, _), seen)| (*kind, seen.index))
            .collect();
        if ambiguous.is_empty() {
            return;
        }
        let evidence = &mut self.evidence;
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

    /// Drops what is not in a consumer's namespace, or was in another part of the dump already.
    fn drop_strangers(&mut self) {
        let namespaces = self.evidence.namespaces.iter();
        let consumers: BTreeSet<&str> = namespaces
            .filter(|namespace| namespace.consumer().is_some())
            .map(|namespace| namespace.name.as_str())
            .collect();
        let mut seen = BTreeSet::new();
        self.evidence.unlabelled_secrets.retain(|secret| {
            consumers.contains(secret.namespace.as_str())
                && seen.insert((secret.namespace.clone(), secret.name.clone()))
        });
    }

    /// Returns the evidence.
    ///
    /// # Errors
    /// When the dump holds other kinds but no ClusterProfile, or only unreadable objects.
    pub fn finish(mut self, name: &str) -> Result<Input, DumpError> {
        self.withdraw();
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
                    found: self.found(),
                });
            }
        }
        let mut notes = if self.ignored.is_empty() {
            Vec::new()
        } else {
            vec![format!("ignored in the dump: {}", counted(&self.ignored))]
        };
        notes.extend(unknown_versions(&self.versions, names::KIND));
        notes.extend(unknown_versions(&self.placement_versions, names::PLACEMENT_KIND));
        let asked = self.asked();
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

    /// The kinds of evidence that the dump has.
    fn asked(&self) -> BTreeMap<Kind, Asked> {
        let no = |reason: &'static str| Asked::No(reason.into());
        let yes_if = |held: bool, reason: &'static str| if held { Asked::Yes } else { no(reason) };
        let mut unreadable = self.evidence.unreadable.iter();
        let has_profiles = !self.evidence.profiles.is_empty()
            || unreadable.any(|unreadable| matches!(&*unreadable.object.kind, "" | names::KIND));
        BTreeMap::from([
            (
                Kind::Inventory,
                // An inventory without profiles is one; a dump of decisions alone says nothing of profiles.
                yes_if(
                    !self.has_slices || has_profiles,
                    "the dump holds no ClusterProfiles: add `kubectl get clusterprofiles -A -o yaml`",
                ),
            ),
            (
                Kind::PlacementDecisions,
                yes_if(
                    self.has_slices,
                    "the dump holds no PlacementDecisions: add `kubectl get placementdecisions -A -o yaml`",
                ),
            ),
            (
                Kind::Namespaces,
                yes_if(
                    self.has_namespaces,
                    "the dump holds no Namespaces: add `kubectl get namespaces -o yaml`",
                ),
            ),
            (
                Kind::Secrets,
                yes_if(
                    self.has_secrets,
                    "the dump holds no Secrets: add `kubectl get secrets -A -l x-k8s.io/cluster-profile -o yaml`",
                ),
            ),
            (
                Kind::UnlabelledSecrets,
                yes_if(
                    self.has_unlabelled_secrets,
                    "the dump holds no Secret without the label x-k8s.io/cluster-profile",
                ),
            ),
            (
                Kind::Writers,
                yes_if(
                    self.has_writers,
                    "the dump was made without managedFields: add --show-managed-fields",
                ),
            ),
            (
                Kind::Timeline,
                no("a dump has no timeline: observe a hub, or judge an evidence file"),
            ),
            (
                Kind::PlacementTimeline,
                no("a dump has no timeline: observe a hub, or judge an evidence file"),
            ),
            (
                Kind::ConsumerAccess,
                no("a dump has no answers on the consumers' rights: run against the hub"),
            ),
            (
                Kind::Workloads,
                no("workloads are not read from a dump: run against the hub"),
            ),
            (Kind::Requests, Asked::No(NO_AUDIT_LOG)),
            (
                Kind::Probe,
                no("a dump cannot answer dry runs: run against the hub"),
            ),
            (
                Kind::Members,
                no("a dump has no answers of members: run against the hub"),
            ),
            (
                Kind::Driver,
                no("a dump cannot run a driver: run against the hub"),
            ),
        ])
    }

    /// Counts what the dump holds.
    fn found(&self) -> String {
        let mut found = self.ignored.clone();
        for (kind, _, _) in self.seen.keys() {
            *found.entry((*kind).to_owned()).or_default() += 1;
        }
        counted(&found)
    }
}

/// Keeps the entries at those places.
fn keep<T>(list: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
    let mut index = 0..;
    list.retain(|_| index.next().is_none_or(&is_kept));
}

/// Says that objects are in versions of the API that the suite does not know, if so.
fn unknown_versions(versions: &BTreeSet<String>, kind: &str) -> Option<String> {
    const SHOWN: usize = 3;
    const LONGEST: usize = 63;
    let unknown = versions.iter().map(String::as_str);
    let unknown = unknown.filter(|version| !names::VERSIONS.contains(version));
    let listed = unknown
        .take(SHOWN)
        .map(|version| version.chars().take(LONGEST).collect());
    let listed: Vec<String> = listed.collect();
    (!listed.is_empty()).then(|| {
        format!(
            "{kind}s are read as {}: this suite does not know their version {}",
            names::VERSIONS[0],
            listed.join(", ")
        )
    })
}

/// Formats counts, such as `2 × Pod, 1 × Secret`; the first of many kinds.
fn counted(what: &BTreeMap<String, usize>) -> String {
    const SHOWN: usize = 20;
    let shown = what.iter().take(SHOWN);
    let mut counts: Vec<String> = shown.map(|(what, count)| format!("{count} × {what}")).collect();
    let more: usize = what.values().skip(SHOWN).sum();
    if more > 0 {
        counts.push(format!("{more} of other kinds"));
    }
    counts.join(", ")
}
