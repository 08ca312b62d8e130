//! From objects to evidence.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};

use jiff::Timestamp;
use serde::Deserialize;

use super::{
    DumpError,
    item::{Body, Item},
};
use crate::{
    api::{ClusterProfile, Metadata, names},
    evidence::{
        Asked, Digester, Evidence, FORMAT, Input, Kind, Namespace, ObjectRef, Origin, ProfileHistory,
        Unreadable, Version, crd, unfit,
    },
};

/// Takes the objects of a dump one by one.
pub(super) struct Gatherer {
    evidence: Evidence,
    digester: Digester,
    seen: HashMap<Key, Seen>,
    /// The versions of the API that the profiles are in.
    versions: BTreeSet<String>,
    /// Objects that were left out, by what they are.
    ignored: BTreeMap<String, usize>,
    has_namespaces: bool,
    has_secrets: bool,
    has_writers: bool,
}

/// What is wrong with an object that no hub can have given out.
const NAMELESS: &str = "metadata.name is missing";

/// Kind, namespace, name.
type Key = (&'static str, String, String);

/// A version of an object, and the file that it stands in.
struct Seen {
    uid: String,
    resource_version: String,
    file: String,
}

impl Gatherer {
    pub fn new() -> Self {
        Self {
            evidence: Evidence::default(),
            digester: Digester::new(),
            seen: HashMap::new(),
            versions: BTreeSet::new(),
            ignored: BTreeMap::new(),
            has_namespaces: false,
            has_secrets: false,
            has_writers: false,
        }
    }

    /// Takes one object.
    ///
    /// # Errors
    /// When another version of it was taken before.
    pub fn take(&mut self, item: Item<'_>) -> Result<(), DumpError> {
        let (group, version) = item
            .types
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &item.types.api_version));
        match (group, &*item.types.kind) {
            (names::GROUP, names::KIND) => {
                self.versions.insert(version.to_owned());
                self.take_profile(&item)
            }
            ("", "Namespace") => self.take_namespace(&item),
            ("", "Secret") => self.take_secret(&item),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                self.take_crd(&item);
                Ok(())
            }
            ("" | names::GROUP, "") => {
                self.ignore("object without a kind".to_owned());
                Ok(())
            }
            ("", kind) => {
                self.ignore(kind.to_owned());
                Ok(())
            }
            (group, kind) => {
                self.ignore(format!("{kind}.{group}"));
                Ok(())
            }
        }
    }

    fn take_profile(&mut self, item: &Item<'_>) -> Result<(), DumpError> {
        let read = match &item.body {
            Body::Broken(..) => None,
            body => body.read::<ClusterProfile>().ok(),
        };
        let Some(mut profile) = read else {
            let message = match unfit::read_profile(&item.body.value()) {
                Err(unreadable) => unreadable.message,
                // JSON that repeats a key: only the typed reading minds.
                Ok(_) => "a key is repeated".to_owned(),
            };
            self.give_up(item, names::KIND, message);
            return Ok(());
        };
        if profile.metadata.name.is_empty() {
            self.give_up(item, names::KIND, NAMELESS.to_owned());
            return Ok(());
        }
        if profile.api_version.is_empty() {
            profile.api_version = (*item.types.api_version).into();
        }
        if self.is_known(names::KIND, &ObjectRef::from(&profile), item)? {
            return Ok(());
        }
        self.has_writers |= profile.metadata.writers.is_some();
        if let Some(neighbour) = self.evidence.profiles.last() {
            profile.share_with(neighbour.last());
        }
        self.evidence.profiles.push(ProfileHistory {
            origin: Origin::Listed,
            versions: vec![Version {
                at: Timestamp::UNIX_EPOCH,
                profile,
            }],
            deleted: None,
        });
        Ok(())
    }

    fn take_namespace(&mut self, item: &Item<'_>) -> Result<(), DumpError> {
        #[derive(Deserialize)]
        struct Named {
            metadata: Metadata,
        }
        self.has_namespaces = true;
        let read = match &item.body {
            Body::Broken(..) => None,
            body => body.read::<Named>().ok(),
        };
        let Some(Named { metadata }) = read else {
            self.give_up(item, "Namespace", "its metadata does not fit".to_owned());
            return Ok(());
        };
        if metadata.name.is_empty() {
            self.give_up(item, "Namespace", NAMELESS.to_owned());
            return Ok(());
        }
        let namespace = Namespace {
            name: metadata.name.to_string(),
            uid: metadata.uid.to_string(),
            resource_version: metadata.resource_version,
            labels: metadata.labels.to_map(),
        };
        if !self.is_known("Namespace", &ObjectRef::from(&namespace), item)? {
            self.evidence.namespaces.push(namespace);
        }
        Ok(())
    }

    fn take_secret(&mut self, item: &Item<'_>) -> Result<(), DumpError> {
        self.has_secrets = true;
        let value = item.body.value();
        if value["metadata"]["labels"]
            .get(names::LABEL_SECRET_PROFILE)
            .is_none()
        {
            self.ignore(format!(
                "Secret without the label {}",
                names::LABEL_SECRET_PROFILE
            ));
            return Ok(());
        }
        let read = match &item.body {
            Body::Broken(..) => None,
            _ => Some(self.digester.secret(&value)),
        };
        match read {
            Some(Ok(secret)) => {
                if !self.is_known("Secret", &ObjectRef::from(&secret), item)? {
                    self.evidence.secrets.push(secret);
                }
            }
            Some(Err(unreadable)) => self.give_up(item, "Secret", unreadable.message),
            None => self.give_up(item, "Secret", String::new()),
        }
        Ok(())
    }

    fn take_crd(&mut self, item: &Item<'_>) {
        let served = crd::served_versions(&item.body.value());
        match served.is_empty() {
            true => self.ignore("CustomResourceDefinition of another kind".to_owned()),
            false => self.evidence.header.hub.served = served,
        }
    }

    fn ignore(&mut self, what: String) {
        *self.ignored.entry(what).or_default() += 1;
    }

    fn give_up(&mut self, item: &Item<'_>, kind: &str, message: String) {
        let message = match &item.body {
            Body::Broken(_, why) => why.clone(),
            _ => message,
        };
        let object = ObjectRef::of_value(&item.body.value(), kind);
        let message = match object.name.is_empty() {
            true => format!("{message} ({})", item.place),
            false => message,
        };
        self.evidence.unreadable.push(Unreadable { object, message });
    }

    /// Whether the same version of the same object was taken before, as when two dumps overlap.
    fn is_known(
        &mut self,
        kind: &'static str,
        object: &ObjectRef,
        item: &Item<'_>,
    ) -> Result<bool, DumpError> {
        let key = (kind, object.namespace.clone(), object.name.clone());
        match self.seen.entry(key) {
            Entry::Vacant(free) => {
                free.insert(Seen {
                    uid: object.uid.clone(),
                    resource_version: object.resource_version.clone(),
                    file: item.place.file.to_owned(),
                });
                Ok(false)
            }
            Entry::Occupied(taken) => {
                let seen = taken.get();
                let same = seen.uid == object.uid && seen.resource_version == object.resource_version;
                if same && !object.resource_version.is_empty() {
                    return Ok(true);
                }
                Err(DumpError::Twice {
                    object: object.to_string(),
                    first: seen.file.clone(),
                    second: item.place.to_string(),
                })
            }
        }
    }

    /// The evidence.
    ///
    /// # Errors
    /// When there was no ClusterProfile at all.
    pub fn finish(self, name: &str) -> Result<Input, DumpError> {
        let unreadable = &self.evidence.unreadable;
        if self.evidence.profiles.is_empty() && !unreadable.iter().any(|u| u.object.kind == names::KIND) {
            return Err(DumpError::NoProfile {
                name: name.to_owned(),
                found: self.found(),
            });
        }
        let notes = match self.ignored.is_empty() {
            true => Vec::new(),
            false => vec![format!("ignored in the dump: {}", counted(&self.ignored))],
        };
        let asked = self.asked();
        let mut evidence = self.evidence;
        let header = &mut evidence.header;
        header.format = FORMAT.to_owned();
        header.suite_version = env!("CARGO_PKG_VERSION").to_owned();
        let file = name
            .rsplit(['/', '\\'])
            .find(|part| !part.is_empty())
            .unwrap_or(name);
        header.hub.source = format!("dump {file}");
        header.hub.api_version = self.versions.into_iter().next_back();
        header.asked = asked;
        Ok(Input { evidence, notes })
    }

    /// What a dump can hold and what it held.
    fn asked(&self) -> BTreeMap<Kind, Asked> {
        let yes_if = |held: bool, reason: &str| match held {
            true => Asked::Yes,
            false => Asked::No(reason.to_owned()),
        };
        let no = |reason: &str| Asked::No(reason.to_owned());
        BTreeMap::from([
            (Kind::Inventory, Asked::Yes),
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
            (Kind::Requests, no("no audit log was given: add --audit-log FILE")),
            (Kind::Probe, no("a dump cannot be asked: run against the hub")),
            (
                Kind::Members,
                no("a dump tells nothing of the members: run against the hub"),
            ),
            (Kind::Driver, no("a dump cannot be driven: run against the hub")),
        ])
    }

    /// What was found, counted.
    fn found(&self) -> String {
        let mut found = self.ignored.clone();
        for (kind, _, _) in self.seen.keys() {
            *found.entry((*kind).to_owned()).or_default() += 1;
        }
        counted(&found)
    }
}

/// Such as `2 × Pod, 1 × Secret`; of many kinds the first.
fn counted(what: &BTreeMap<String, usize>) -> String {
    const SHOWN: usize = 20;
    // As long as a kind with its group may be.
    const LONGEST: usize = 320;
    let shown = what.iter().take(SHOWN);
    let mut counts: Vec<String> = shown
        .map(|(what, count)| format!("{count} × {}", what.chars().take(LONGEST).collect::<String>()))
        .collect();
    let more: usize = what.values().skip(SHOWN).sum();
    if more > 0 {
        counts.push(format!("{more} of other kinds"));
    }
    counts.join(", ")
}
