//! The server's storage: objects, their revisions, and a bounded history for watches.

use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::resource::{ApiVersion, Family, Resource, ResourceId, id};
use crate::object::json::text;

/// The maximum number of changes kept for each resource.
const HISTORY: usize = 16_384;

/// The maximum size of an object in bytes of JSON: etcd's `--max-request-bytes`. Sizes here are those of JSON. What
/// kube-apiserver stores of built-in kinds is mostly smaller.
const MAX_OBJECT: usize = 1536 * 1024;

/// An object at a revision, as handlers use it.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) revision: u64,
    bytes: Bytes,
    object: OnceLock<Value>,
}

impl Stored {
    pub(crate) fn new(object: Value, revision: u64) -> Self {
        Self {
            revision,
            bytes: object.to_string().into(),
            object: object.into(),
        }
    }

    fn of_bytes(bytes: Bytes, revision: u64) -> Self {
        let object = OnceLock::new();
        Self {
            revision,
            bytes,
            object,
        }
    }

    pub(crate) fn object(&self) -> &Value {
        let read = || serde_json::from_slice(&self.bytes);
        // This server wrote it, so it can be read.
        self.object.get_or_init(|| read().unwrap_or_default())
    }

    /// The object as JSON.
    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The object as JSON without `apiVersion` and `kind`, as lists of built-in resources contain it.
    pub(crate) fn untyped_bytes(&self) -> Bytes {
        let fields = self.object().as_object().into_iter().flatten();
        let content = fields.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind"));
        let content: BTreeMap<_, _> = content.collect();
        serde_json::to_vec(&content).unwrap_or_default().into()
    }
}

/// An object at a revision, as storage keeps it: as JSON, since a parsed object takes ten times the memory. Built-in
/// kinds stay parsed: they are few, and nearly every request reads some.
#[derive(Debug)]
pub(crate) struct StorageEntry {
    pub(crate) revision: u64,
    api_version: String,
    bytes: Bytes,
    parsed: Option<Arc<Stored>>,
    /// The object in other versions than the stored one.
    versions: Mutex<BTreeMap<String, Bytes>>,
}

impl StorageEntry {
    pub(crate) fn new(object: Value, revision: u64, is_custom: bool) -> Self {
        let api_version = text(&object, "apiVersion").to_owned();
        let stored = Stored::new(object, revision);
        Self {
            revision,
            api_version,
            bytes: stored.bytes(),
            parsed: (!is_custom).then(|| stored.into()),
            versions: Mutex::default(),
        }
    }

    /// The object for a handler.
    pub(crate) fn open(&self) -> Arc<Stored> {
        let open = || Stored::of_bytes(self.bytes.clone(), self.revision).into();
        self.parsed.clone().unwrap_or_else(open)
    }

    /// The object in another version, converted on first use.
    pub(crate) fn in_version(&self, api_version: &str, convert: impl FnOnce(&Value) -> Value) -> Arc<Stored> {
        if self.api_version == api_version {
            return self.open();
        }
        let mut versions = self.versions.lock();
        let entry = versions.entry(api_version.to_owned());
        let bytes = entry.or_insert_with(|| convert(self.open().object()).to_string().into());
        Stored::of_bytes(bytes.clone(), self.revision).into()
    }
}

/// A change of one object. Selectors and lists of the past need the object before and after.
#[derive(Debug)]
pub(crate) struct StorageChange {
    pub(crate) revision: u64,
    pub(crate) key: String,
    pub(crate) before: Option<Arc<StorageEntry>>,
    /// The object after the change, or the deleted one (with the revision of the deletion).
    pub(crate) object: Arc<StorageEntry>,
    pub(crate) deleted: bool,
}

/// A resource and all its objects, by `namespace/name` (or the name alone).
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) resource: Arc<Resource>,
    objects: ObjectsByKey,
    history: VecDeque<Arc<StorageChange>>,
    /// The revision of the newest dropped change. A watch that has seen it has missed nothing.
    dropped: u64,
    /// The oldest revision from which a watch can start.
    pub(crate) compacted: u64,
    /// The oldest revision that a list of the past can show.
    forgotten: u64,
    /// Announces each change.
    pub(crate) wake: watch::Sender<u64>,
}

/// The objects of a resource by their keys.
type ObjectsByKey = BTreeMap<String, Arc<StorageEntry>>;

/// The key of an object within its resource.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    prefix(namespace) + name
}

/// The common prefix of all keys in a namespace, empty for all namespaces.
pub(crate) fn prefix(namespace: &str) -> String {
    match namespace {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    }
}

/// The objects of `objects` that are in `namespace` (all, when empty), in the order of their keys.
pub(crate) fn within<'a>(
    objects: &'a ObjectsByKey,
    namespace: &str,
) -> impl Iterator<Item = (&'a String, &'a Arc<StorageEntry>)> + use<'a> {
    let prefix = prefix(namespace);
    let objects = objects.range(prefix.clone()..);
    objects.take_while(move |(key, _)| key.starts_with(&prefix))
}

impl Table {
    /// All objects of `namespace` (all there are, when empty), in the order of their keys.
    pub(crate) fn list(
        &self,
        namespace: &str,
    ) -> impl Iterator<Item = (&String, &Arc<StorageEntry>)> + use<'_> {
        within(&self.objects, namespace)
    }

    /// All objects as of `revision`, or `None` if the history does not reach back to it.
    pub(crate) fn at(&self, revision: u64) -> Option<Cow<'_, ObjectsByKey>> {
        if revision < self.forgotten {
            return None;
        }
        let mut objects = Cow::Borrowed(&self.objects);
        let later = self.history.iter().rev();
        for change in later.take_while(|change| change.revision > revision) {
            match &change.before {
                Some(before) => objects.to_mut().insert(change.key.clone(), before.clone()),
                None => objects.to_mut().remove(&change.key),
            };
        }
        Some(objects)
    }

    /// The changes after `revision`, or `None` if some of them are dropped.
    pub(crate) fn changes_after(&self, revision: u64) -> Option<Vec<Arc<StorageChange>>> {
        let start = self.history.partition_point(|change| change.revision <= revision);
        (revision >= self.dropped).then(|| self.history.range(start..).cloned().collect())
    }

    /// True if nothing changed after `revision`.
    pub(crate) fn is_quiet_after(&self, revision: u64) -> bool {
        self.history
            .back()
            .is_none_or(|newest| newest.revision <= revision)
    }

    /// Drops changes beyond `memory`.
    fn shorten(&mut self, memory: usize) {
        let excess = self.history.len().saturating_sub(memory);
        if let Some(newest) = self.history.drain(..excess).next_back() {
            self.dropped = newest.revision;
            self.compacted = newest.revision;
            self.forgotten = newest.revision;
        }
    }
}

/// Discovery documents by path and content type.
pub(crate) type Documents = BTreeMap<(String, &'static str), Bytes>;

/// A value computed from what is stored, dropped when that changes. Only its users know its type.
#[derive(Debug, Default)]
pub(crate) struct Memo(OnceLock<Box<dyn Any + Send + Sync>>);

impl Memo {
    /// Returns the value, computed by `work_out` on first use. One memo holds values of one type.
    pub(crate) fn get<T: Any + Send + Sync>(&self, work_out: impl FnOnce() -> T) -> &T {
        let value = self.0.get_or_init(|| Box::new(work_out()));
        value.downcast_ref().expect("a memo holds values of one type")
    }
}

/// Everything that is stored.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    /// The newest resourceVersion.
    pub(crate) revision: u64,
    tables: BTreeMap<ResourceId, Table>,
    /// The maximum number of changes kept, if it was set.
    memory: Option<usize>,
    /// What RBAC computes from the stored roles and bindings.
    pub(crate) access: Memo,
    /// Discovery documents, made on first use.
    pub(crate) documents: OnceLock<Documents>,
    /// OpenAPI documents, made on first use.
    pub(crate) descriptions: OnceLock<Documents>,
}

impl Storage {
    /// Serves a resource, or updates its description.
    pub(crate) fn serve(&mut self, resource: Resource) {
        self.forget_documents();
        let resource = Arc::new(resource);
        let table = self.tables.entry(id(&resource.group, &resource.plural));
        let table = table.or_insert_with(|| Table {
            resource: resource.clone(),
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            dropped: 0,
            compacted: self.revision,
            forgotten: 0,
            wake: watch::Sender::new(0),
        });
        table.resource = resource;
    }

    fn forget_documents(&mut self) {
        self.documents.take();
        self.descriptions.take();
    }

    /// Stops serving a resource. Its objects are gone and its watches end.
    pub(crate) fn stop_serving(&mut self, id: &ResourceId) {
        self.forget_documents();
        self.tables.remove(id);
    }

    /// The objects of a resource.
    pub(crate) fn table(&self, id: &ResourceId) -> Option<&Table> {
        self.tables.get(id)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }

    /// The served versions of all resources.
    pub(crate) fn served(&self) -> impl Iterator<Item = (&Resource, &ApiVersion)> {
        let resources = self.tables().map(|table| &*table.resource);
        resources.flat_map(|resource| {
            let served = resource.versions.iter().filter(|version| version.served);
            served.map(move |version| (resource, version))
        })
    }

    /// The object as it is stored.
    pub(crate) fn get(&self, id: &ResourceId, key: &str) -> Option<Arc<Stored>> {
        Some(self.entry_of(id, key)?.open())
    }

    pub(crate) fn entry_of(&self, id: &ResourceId, key: &str) -> Option<&Arc<StorageEntry>> {
        self.tables.get(id)?.objects.get(key)
    }

    /// Stores `object` with a new resourceVersion.
    pub(crate) fn put(&mut self, id: &ResourceId, key: &str, object: Value) -> Arc<StorageEntry> {
        let object = self.stamp(id, object);
        self.change(id, key, object, false)
    }

    /// Stores `object` with a new resourceVersion, or returns `None` if it is too large for etcd.
    pub(crate) fn put_bounded(
        &mut self,
        id: &ResourceId,
        key: &str,
        object: Value,
    ) -> Option<Arc<StorageEntry>> {
        let object = self.stamp(id, object);
        (object.bytes.len() <= MAX_OBJECT).then(|| self.change(id, key, object, false))
    }

    /// Removes an object. Watches see it with the revision of the removal.
    pub(crate) fn remove(&mut self, id: &ResourceId, key: &str) {
        if let Some(before) = self.get(id, key) {
            let object = self.stamp(id, before.object().clone());
            self.change(id, key, object, true);
        }
    }

    /// Gives an object the next resourceVersion.
    fn stamp(&self, id: &ResourceId, mut object: Value) -> Arc<StorageEntry> {
        let revision = self.revision + 1;
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        let table = self.tables.get(id);
        let is_custom = table.is_some_and(|table| table.resource.family == Family::Custom);
        Arc::new(StorageEntry::new(object, revision, is_custom))
    }

    /// Makes a stamped object the newest one.
    fn change(
        &mut self,
        id: &ResourceId,
        key: &str,
        object: Arc<StorageEntry>,
        deleted: bool,
    ) -> Arc<StorageEntry> {
        let revision = object.revision;
        self.revision = revision;
        let table = self.tables.get_mut(id);
        if table
            .as_ref()
            .is_some_and(|table| table.resource.family == Family::Access)
        {
            self.access = Memo::default();
        }
        if let Some(table) = table {
            let before = if deleted {
                table.objects.remove(key)
            } else {
                table.objects.insert(key.to_owned(), object.clone())
            };
            table.history.push_back(Arc::new(StorageChange {
                revision,
                key: key.to_owned(),
                before,
                object: object.clone(),
                deleted,
            }));
            table.shorten(self.memory.unwrap_or(HISTORY));
            table.wake.send_replace(revision);
        }
        object
    }

    /// A copy of everything that is stored. No watch is open on it.
    pub(crate) fn copy(&self) -> Self {
        let table = |(id, table): (&ResourceId, &Table)| {
            let copy = Table {
                resource: table.resource.clone(),
                objects: table.objects.clone(),
                history: table.history.clone(),
                dropped: table.dropped,
                compacted: table.compacted,
                forgotten: table.forgotten,
                wake: watch::Sender::new(0),
            };
            (id.clone(), copy)
        };
        Self {
            revision: self.revision,
            tables: self.tables.iter().map(table).collect(),
            memory: self.memory,
            ..Self::default()
        }
    }

    /// Sets the maximum number of changes kept for each resource.
    pub(crate) fn remember(&mut self, changes: usize) {
        self.memory = Some(changes);
        self.tables.values_mut().for_each(|table| table.shorten(changes));
    }

    /// Drops all history, as a compaction of etcd does.
    pub(crate) fn compact(&mut self) {
        for table in self.tables.values_mut() {
            table.shorten(0);
            table.compacted = self.revision;
            table.forgotten = self.revision;
        }
    }

    /// The keys of all objects in `namespace`.
    pub(crate) fn contents(&self, namespace: &str) -> Vec<(ResourceId, String)> {
        let tables = self.tables.iter().filter(|(_, table)| table.resource.namespaced);
        tables
            .flat_map(|(id, table)| table.list(namespace).map(|(key, _)| (id.clone(), key.clone())))
            .collect()
    }
}
