//! What the server holds: objects, their revisions and a bounded history for watches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;

use super::rbac::{Binding, GROUP};
use super::resource::{Family, Resource};

/// How many changes of one resource a watch may lag behind.
const HISTORY: usize = 16_384;

/// An object at one of its revisions, as a request works with it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) revision: u64,
    object: OnceLock<Value>,
    bytes: OnceLock<Bytes>,
    untyped: OnceLock<Bytes>,
}

impl Stored {
    pub(super) fn new(object: Value, revision: u64) -> Self {
        Self {
            revision,
            object: object.into(),
            bytes: OnceLock::new(),
            untyped: OnceLock::new(),
        }
    }

    fn of_bytes(bytes: Bytes, revision: u64) -> Self {
        Self {
            revision,
            object: OnceLock::new(),
            bytes: bytes.into(),
            untyped: OnceLock::new(),
        }
    }

    pub(super) fn object(&self) -> &Value {
        let read = || serde_json::from_slice(self.bytes.get().map_or(&[], |bytes| bytes));
        // It was written by this server.
        self.object.get_or_init(|| read().unwrap_or_default())
    }

    /// The object as JSON.
    pub(super) fn bytes(&self) -> Bytes {
        let bytes = self.bytes.get_or_init(|| self.object().to_string().into());
        bytes.clone()
    }

    /// The object as JSON without its type, as the lists of the server's own resources have it.
    pub(super) fn untyped_bytes(&self) -> Bytes {
        let untyped = self.untyped.get_or_init(|| {
            let mut object = self.object().clone();
            if let Value::Object(fields) = &mut object {
                fields.remove("apiVersion");
                fields.remove("kind");
            }
            object.to_string().into()
        });
        untyped.clone()
    }
}

/// An object at one of its revisions, as it is kept: as JSON, since a parsed one takes ten times the memory. Those of
/// the server's own kinds are few, and read with nearly every request: they stay parsed.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) revision: u64,
    api_version: String,
    bytes: Bytes,
    parsed: Option<Arc<Stored>>,
    /// The object in versions other than the stored one.
    versions: Mutex<Vec<(String, Bytes)>>,
}

impl Kept {
    pub(super) fn new(object: Value, revision: u64, is_custom: bool) -> Self {
        let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let stored = Stored::new(object, revision);
        Self {
            revision,
            api_version,
            bytes: stored.bytes(),
            parsed: (!is_custom).then(|| stored.into()),
            versions: Mutex::default(),
        }
    }

    /// The object, to work with.
    pub(super) fn open(&self) -> Arc<Stored> {
        let open = || Stored::of_bytes(self.bytes.clone(), self.revision).into();
        self.parsed.clone().unwrap_or_else(open)
    }

    /// This object in another version, made by `convert` the first time.
    pub(super) fn in_version(&self, api_version: &str, convert: impl FnOnce(&Value) -> Value) -> Arc<Stored> {
        if self.api_version == api_version {
            return self.open();
        }
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = versions.iter().find(|(known, _)| known == api_version);
        if let Some((_, bytes)) = known {
            return Stored::of_bytes(bytes.clone(), self.revision).into();
        }
        let converted = Stored::new(convert(self.open().object()), self.revision);
        versions.push((api_version.to_owned(), converted.bytes()));
        converted.into()
    }
}

/// A change of one object. Both sides are kept, for selectors and for lists of the past.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) revision: u64,
    pub(super) key: String,
    pub(super) before: Option<Arc<Kept>>,
    /// The object now, or as it was when it was deleted (with the revision of the deletion).
    pub(super) object: Arc<Kept>,
    pub(super) deleted: bool,
}

/// One resource and all its objects, by `namespace/name` (or the name alone).
#[derive(Debug)]
pub(super) struct Table {
    pub(super) resource: Arc<Resource>,
    objects: BTreeMap<String, Arc<Kept>>,
    history: VecDeque<Arc<Change>>,
    /// The number of changes that the history has dropped.
    dropped: u64,
    /// The newest revision that the history no longer tells of: watches begin after it.
    compacted: u64,
    /// The newest revision that was told of once and is forgotten: lists of the past reach back to it.
    forgotten: u64,
    /// How many changes the history keeps.
    memory: usize,
    wake: watch::Sender<u64>,
}

/// The key of an object within its resource.
pub(super) fn key(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

impl Table {
    fn new(resource: Arc<Resource>, revision: u64, memory: usize) -> Self {
        Self {
            memory,
            resource,
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            dropped: 0,
            compacted: revision,
            forgotten: 0,
            wake: watch::Sender::new(0),
        }
    }

    fn is_custom(&self) -> bool {
        self.resource.family == Family::Custom
    }

    /// All objects of `namespace` (all there are, when empty), in the order of their keys.
    pub(super) fn list<'a>(
        &'a self,
        namespace: &str,
    ) -> Box<dyn Iterator<Item = (&'a String, &'a Arc<Kept>)> + 'a> {
        if namespace.is_empty() {
            return Box::new(self.objects.iter());
        }
        let prefix = format!("{namespace}/");
        let start = self.objects.range(prefix.clone()..);
        Box::new(start.take_while(move |(key, _)| key.starts_with(&prefix)))
    }

    /// All objects as they were at `revision`. `None` when that is no longer known.
    pub(super) fn list_at(&self, revision: u64) -> Option<BTreeMap<String, Arc<Kept>>> {
        if revision < self.forgotten {
            return None;
        }
        let mut objects = self.objects.clone();
        for change in self.history.iter().rev() {
            if change.revision <= revision {
                break;
            }
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), before.clone()),
                None => objects.remove(&change.key),
            };
        }
        Some(objects)
    }

    /// Wakes its holder after each change.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// Where in the history the changes after `revision` begin. The error is the oldest revision one can ask for.
    pub(super) fn position_after(&self, revision: u64) -> Result<u64, u64> {
        if revision < self.compacted {
            return Err(self.compacted);
        }
        let older = self.history.partition_point(|change| change.revision <= revision);
        Ok(self.dropped + older as u64)
    }

    /// Where the next change will be.
    pub(super) fn end(&self) -> u64 {
        self.dropped + self.history.len() as u64
    }

    /// Changes from `position` on. `None` when the history has dropped some of them.
    pub(super) fn changes_from(&self, position: u64) -> Option<Vec<Arc<Change>>> {
        let skip = usize::try_from(position.checked_sub(self.dropped)?).ok()?;
        Some(self.history.iter().skip(skip).cloned().collect())
    }

    /// Forgets the history up to now, as a compaction of etcd does.
    pub(super) fn compact(&mut self, revision: u64) {
        self.dropped += self.history.len() as u64;
        self.history.clear();
        self.compacted = revision;
        self.forgotten = revision;
    }

    /// Forgets what is more than the history may keep.
    fn shorten(&mut self) {
        while self.history.len() > self.memory
            && let Some(oldest) = self.history.pop_front()
        {
            self.dropped += 1;
            self.compacted = oldest.revision;
            self.forgotten = oldest.revision;
        }
    }

    fn record(&mut self, change: Change) {
        let revision = change.revision;
        self.history.push_back(Arc::new(change));
        self.shorten();
        self.wake.send_replace(revision);
    }
}

/// The name of a resource: its group and plural.
pub(super) type ResourceId = (String, String);

/// Everything that is stored.
#[derive(Debug)]
pub(super) struct Storage {
    /// The newest resourceVersion.
    pub(super) revision: u64,
    tables: BTreeMap<ResourceId, Table>,
    /// How many changes of each resource are kept.
    memory: usize,
    bindings: OnceLock<Vec<Binding>>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            revision: 0,
            tables: BTreeMap::new(),
            memory: HISTORY,
            bindings: OnceLock::new(),
        }
    }
}

impl Storage {
    /// Begins to serve a resource, or serves it as now described.
    pub(super) fn serve(&mut self, resource: Resource) {
        let id = (resource.group.clone(), resource.plural.clone());
        let resource = Arc::new(resource);
        match self.tables.get_mut(&id) {
            Some(table) => table.resource = resource,
            None => {
                self.tables
                    .insert(id, Table::new(resource, self.revision, self.memory));
            }
        }
    }

    /// Stops serving a resource: its objects are gone and its watches end.
    pub(super) fn stop_serving(&mut self, id: &ResourceId) {
        self.tables.remove(id);
    }

    pub(super) fn table(&self, group: &str, plural: &str) -> Option<&Table> {
        self.tables.get(&(group.to_owned(), plural.to_owned()))
    }

    /// What is stored of a resource.
    pub(super) fn table_of(&self, resource: &Resource) -> Option<&Table> {
        self.tables.get(&resource.id())
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }

    /// The object as it is stored.
    pub(super) fn get(&self, id: &ResourceId, key: &str) -> Option<Arc<Stored>> {
        Some(self.kept(id, key)?.open())
    }

    pub(super) fn kept(&self, id: &ResourceId, key: &str) -> Option<&Arc<Kept>> {
        self.tables.get(id)?.objects.get(key)
    }

    /// Who may do what by the roles and bindings that are stored.
    pub(super) fn bindings(&self) -> &[Binding] {
        self.bindings.get_or_init(|| Binding::read_all(self))
    }

    fn table_to_change(&mut self, id: &ResourceId) -> Option<&mut Table> {
        if id.0 == GROUP {
            self.bindings.take();
        }
        self.tables.get_mut(id)
    }

    /// Stores `object` under a new revision, which it then bears.
    pub(super) fn put(&mut self, id: &ResourceId, key: &str, mut object: Value) -> Arc<Kept> {
        self.revision += 1;
        let revision = self.revision;
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        let table = self.table_to_change(id);
        let is_custom = table.as_ref().is_some_and(|table| table.is_custom());
        let stored = Arc::new(Kept::new(object, revision, is_custom));
        if let Some(table) = table {
            let before = table.objects.insert(key.to_owned(), stored.clone());
            table.record(Change {
                revision,
                key: key.to_owned(),
                before,
                object: stored.clone(),
                deleted: false,
            });
        }
        stored
    }

    /// Removes an object. What watches are told bears the revision of the removal.
    pub(super) fn remove(&mut self, id: &ResourceId, key: &str) {
        let revision = self.revision + 1;
        let Some(table) = self.table_to_change(id) else {
            return;
        };
        let Some(before) = table.objects.remove(key) else {
            return;
        };
        let mut object = before.open().object().clone();
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        table.record(Change {
            revision,
            key: key.to_owned(),
            before: Some(before),
            object: Arc::new(Kept::new(object, revision, table.is_custom())),
            deleted: true,
        });
        self.revision = revision;
    }

    /// Keeps so many changes of each resource from now on.
    pub(super) fn remember(&mut self, changes: usize) {
        self.memory = changes;
        for table in self.tables.values_mut() {
            table.memory = changes;
            table.shorten();
        }
    }

    /// Forgets all history.
    pub(super) fn compact(&mut self) {
        for table in self.tables.values_mut() {
            table.compact(self.revision);
        }
    }

    /// The keys of everything in `namespace`.
    pub(super) fn contents(&self, namespace: &str) -> Vec<(ResourceId, String)> {
        let tables = self.tables.iter().filter(|(_, table)| table.resource.namespaced);
        tables
            .flat_map(|(id, table)| table.list(namespace).map(|(key, _)| (id.clone(), key.clone())))
            .collect()
    }
}
