//! Who owns which field: `metadata.managedFields`.
//!
//! A write is compared with what was there. What it added or changed becomes the writer's, and is taken from all
//! others; what it removed is nobody's any more. (Of applies, see [`super::apply`].)

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::context::{Context, Named};
use super::family;
use super::field_set::FieldSet;
use super::merge::{Comparison, Type, compare_objects};
use super::meta::metadata_mut;
use super::options::WriteOptions;
use super::schema::{Schema, prune};
use super::write::ignored_fields;

/// More managers than this are merged into one.
const MAX_MANAGERS: usize = 10;
const MERGED_MANAGER: &str = "ancient-changes";

/// Who writes, and what.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) manager: &'a str,
    /// The resource, and the version in which it is written.
    pub(super) named: &'a Named,
    /// Empty for the object itself.
    pub(super) subresource: &'a str,
    /// RFC 3339, in seconds.
    pub(super) time: &'a str,
}

impl Writer<'_> {
    /// What a write changed, in the version in which an owner knows its fields. `None` when there is no such version.
    fn comparison(&self, api_version: &str, old: &Value, new: &Value) -> Option<Comparison> {
        // Of other versions, only writes to a subresource know what they cannot change.
        let ignored = match self.subresource {
            "" if api_version != self.named.api_version() => &[],
            subresource => ignored_fields(self.named, subresource),
        };
        let (old, new) = (self.convert(old, api_version)?, self.convert(new, api_version)?);
        Some(compare_objects(&old, &new, self.of(api_version)?, ignored))
    }

    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let resource = &self.named.resource;
        let mut versions = resource.versions.iter();
        let version = versions.find(|version| resource.api_version(&version.name) == api_version)?;
        Some(&version.schema)
    }

    /// The type of the objects in a version. `None` when there is no such version.
    pub(super) fn of(&self, api_version: &str) -> Option<Type<'_>> {
        Some(Type::object(Some(self.schema(api_version)?)))
    }

    /// An object in another version.
    pub(super) fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>> {
        let schema = self.schema(api_version)?;
        if object.get("apiVersion").is_none_or(|known| known == api_version) {
            return Some(Cow::Borrowed(object));
        }
        let mut object = object.clone();
        object["apiVersion"] = api_version.into();
        prune(&mut object, schema);
        Some(Cow::Owned(object))
    }
}

/// How an owner came by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// How the fields of an entry are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum FieldsType {
    FieldsV1,
}

/// One manager's fields. Entries are sorted by what stands first in them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) operation: Operation,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) time: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) manager: String,
    pub(super) api_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) subresource: String,
    fields_type: FieldsType,
    #[serde(default, rename = "fieldsV1")]
    pub(super) fields: FieldSet,
}

impl Entry {
    /// What `writer` owns by `operation`. Those who apply do so in whatever version.
    pub(super) fn is_of(&self, writer: &Writer<'_>, operation: Operation) -> bool {
        self.operation == operation
            && self.manager == writer.manager
            && self.subresource == writer.subresource
            && (operation == Operation::Apply || self.api_version == writer.named.api_version())
    }

    pub(super) fn new(writer: &Writer<'_>, operation: Operation, fields: FieldSet) -> Self {
        Self {
            operation,
            time: writer.time.to_owned(),
            manager: writer.manager.to_owned(),
            api_version: writer.named.api_version(),
            subresource: writer.subresource.to_owned(),
            fields_type: FieldsType::FieldsV1,
            fields,
        }
    }
}

/// All entries, or none when one of them cannot be read.
pub(super) fn read_entries(object: Option<&Value>) -> Vec<Entry> {
    let list = object.and_then(|object| object["metadata"]["managedFields"].as_array());
    let read = |json: &Value| {
        let entry = Entry::deserialize(json).ok()?;
        (!entry.api_version.is_empty()).then_some(entry)
    };
    let entries: Option<Vec<Entry>> = list.into_iter().flatten().map(read).collect();
    entries.unwrap_or_default()
}

/// A client clears the list by sending an empty one, or one with an empty entry.
fn is_reset(list: &Value) -> bool {
    match list.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

impl Context<'_> {
    /// Writes into `object` who owns its fields once it has replaced `live`, or is new.
    pub(super) fn track(
        &self,
        live: Option<&Value>,
        object: &mut Value,
        named: &Named,
        subresource: &str,
        options: &WriteOptions,
    ) {
        let writer = Writer {
            manager: &options.field_manager,
            named,
            subresource,
            time: &self.server.time(),
        };
        track(live, object, &writer);
    }
}

/// Writes into `new` who owns its fields once `writer` has replaced `live` by it.
pub(super) fn track(live: Option<&Value>, new: &mut Value, writer: &Writer<'_>) {
    let sent = &new["metadata"]["managedFields"];
    let mut entries = match () {
        () if !writer.subresource.is_empty() => read_entries(live),
        () if is_reset(sent) => Vec::new(),
        () => match read_entries(Some(new)) {
            sent if sent.is_empty() => read_entries(live),
            sent => sent,
        },
    };
    // What was owned by way of another group, which has other names for the fields, is nobody's any more.
    let group = |version: &str| version.rsplit_once('/').map(|(group, _)| group.to_owned());
    let was_tracked = !entries.is_empty();
    entries.retain(|entry| group(&entry.api_version) == group(&writer.named.api_version()));
    if let Value::Object(object) = new {
        metadata_mut(object).remove("managedFields");
    }
    // Objects that were not tracked from the start are not tracked later.
    if !was_tracked && live.is_some() {
        return;
    }
    let blank = family::blank(&writer.named.resource);
    update(&mut entries, live.unwrap_or(&blank), new, writer);
    write_entries(new, entries);
}

/// Hands over what `writer` changed.
pub(super) fn update(entries: &mut Vec<Entry>, old: &Value, new: &Value, writer: &Writer<'_>) {
    let Comparison { taken, .. } = lose(entries, old, new, writer);
    if !taken.is_empty() {
        match entries
            .iter_mut()
            .find(|entry| entry.is_of(writer, Operation::Update))
        {
            Some(own) => {
                own.fields.union(&taken);
                own.time = writer.time.to_owned();
            }
            None => entries.push(Entry::new(writer, Operation::Update, taken)),
        }
    }
    merge_oldest(entries);
}

/// Takes from all entries what has changed or is gone, and returns what that is to the writer.
pub(super) fn lose(entries: &mut Vec<Entry>, old: &Value, new: &Value, writer: &Writer<'_>) -> Comparison {
    let own = writer.named.api_version();
    let mut versions = BTreeMap::from([(own.clone(), writer.comparison(&own, old, new))]);
    entries.retain_mut(|entry| {
        let version = versions.entry(entry.api_version.clone());
        let comparison = version.or_insert_with_key(|version| writer.comparison(version, old, new));
        let Some(Comparison { taken, removed }) = comparison else {
            return false;
        };
        entry.fields.subtract(taken);
        entry.fields.subtract(removed);
        !entry.fields.is_empty()
    });
    versions.remove(&own).flatten().unwrap_or_default()
}

/// What of each entry's fields a write changes: pairs of the entry and its changed fields.
pub(super) fn conflicts<'a>(
    entries: &'a [Entry],
    old: &Value,
    new: &Value,
    writer: &Writer<'_>,
) -> Vec<(&'a Entry, FieldSet)> {
    let changed = entries.iter().filter_map(|entry| {
        let Comparison { taken, .. } = writer.comparison(&entry.api_version, old, new)?;
        let fields = taken.intersection(&entry.fields);
        (!fields.is_empty()).then_some((entry, fields))
    });
    changed.collect()
}

/// Writes who owns the fields of `object` into it.
pub(super) fn write_entries(object: &mut Value, mut entries: Vec<Entry>) {
    let Value::Object(object) = object else { return };
    let metadata = metadata_mut(object);
    metadata.remove("managedFields");
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort();
    if !entries.is_empty() {
        metadata.insert("managedFields".into(), json!(entries));
    }
}

/// Keeps the number of updaters bounded: the oldest of each version share one entry.
fn merge_oldest(entries: &mut Vec<Entry>) {
    loop {
        entries.sort();
        // Who applies stands first.
        let first = entries.partition_point(|entry| entry.operation == Operation::Apply);
        let updaters = &entries[first..];
        let before = |(i, later): (usize, &Entry)| {
            let mut earlier = updaters[..i].iter();
            Some((
                earlier.position(|entry| entry.api_version == later.api_version)?,
                i,
            ))
        };
        let pair = updaters.iter().enumerate().find_map(before);
        let Some((earlier, later)) = pair.filter(|_| updaters.len() > MAX_MANAGERS) else {
            return;
        };
        let earlier = entries.remove(first + earlier);
        let merged = &mut entries[first + later - 1];
        merged.fields.union(&earlier.fields);
        merged.manager = MERGED_MANAGER.to_owned();
        merged.subresource.clear();
    }
}

/// Whether two objects differ in nothing but the times of their managers.
pub(super) fn same_but_times(a: &Value, b: &Value) -> bool {
    if a == b {
        return true;
    }
    let strip = |object: &Value| {
        let mut object = object.clone();
        let entries = object["metadata"]["managedFields"].as_array_mut();
        for entry in entries.into_iter().flatten() {
            entry.as_object_mut().map(|entry| entry.remove("time"));
        }
        object
    };
    a["spec"] == b["spec"] && a["status"] == b["status"] && strip(a) == strip(b)
}
