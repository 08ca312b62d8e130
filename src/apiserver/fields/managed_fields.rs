//! Tracks the owners of fields: `metadata.managedFields`.
//!
//! The writer becomes the owner of every field that it added or changed; all other owners lose them. Removed fields have no
//! owner. ([`super::apply`] treats applies.)

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    fields::{
        field_set::FieldSet,
        merge::{Comparison, ValueSchema, compare_objects},
    },
    object::{json::list, meta::metadata_mut},
    schema::prune,
    store::route::Route,
};

/// What happens to unknown and repeated fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// A write: its object, its manager, its options.
#[derive(Clone)]
pub(crate) struct WriteRequest<'a> {
    pub(crate) route: &'a Route,
    /// The field manager.
    pub(crate) manager: String,
    /// RFC 3339, in seconds.
    pub(crate) time: String,
    pub(crate) dry_run: bool,
    pub(crate) field_validation: FieldValidation,
    /// An apply that takes fields from other owners.
    pub(crate) force: bool,
}

impl<'a> WriteRequest<'a> {
    /// A write with default options.
    pub(crate) fn new(route: &'a Route, manager: &str, time: &str) -> Self {
        Self {
            route,
            manager: manager.to_owned(),
            time: time.to_owned(),
            dry_run: false,
            field_validation: FieldValidation::Warn,
            force: false,
        }
    }

    /// An object in a version, and its type there. `None` if there is no such version.
    pub(crate) fn view<'v>(
        &self,
        object: &'v Value,
        version: &str,
    ) -> Option<(Cow<'v, Value>, ValueSchema<'_>)> {
        let resource = &self.route.resource;
        let mut versions = resource.versions.iter();
        let entry = versions.find(|entry| resource.api_version(&entry.name) == version)?;
        let of = ValueSchema::object(Some(&entry.schema));
        if object.get("apiVersion").is_none_or(|text| text == version) {
            return Some((Cow::Borrowed(object), of));
        }
        let mut object = object.clone();
        object["apiVersion"] = version.into();
        prune(&mut object, &entry.schema);
        Some((Cow::Owned(object), of))
    }

    /// The changes of a write, in its own version and in the versions of all owners.
    pub(crate) fn changes(&self, entries: &[ManagedFieldsEntry], old: &Value, new: &Value) -> Changes {
        let api_version = self.route.api_version();
        let versions = entries.iter().map(|entry| entry.api_version.as_str());
        let versions: BTreeSet<&str> = versions.chain([api_version.as_str()]).collect();
        let changes = versions.into_iter().filter_map(|version| {
            // In other versions, only writes to a subresource ignore fields.
            let ignored = match self.route.target.subresource.as_str() {
                "" if version != api_version => &[],
                _ => self.route.ignored_fields(),
            };
            let ((old, of), (new, _)) = (self.view(old, version)?, self.view(new, version)?);
            Some((version.to_owned(), compare_objects(&old, &new, of, ignored)))
        });
        changes.collect()
    }
}

/// The changes of a write, by version.
pub(crate) type Changes = BTreeMap<String, Comparison>;

/// How an owner got its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum ManagedFieldsOperation {
    Apply,
    Update,
}

/// The fields of one manager. Entries sort by their first fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fieldsType", rename = "FieldsV1")]
pub(crate) struct ManagedFieldsEntry {
    pub(crate) operation: ManagedFieldsOperation,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) time: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) manager: String,
    pub(crate) api_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) subresource: String,
    #[serde(default, rename = "fieldsV1")]
    pub(crate) fields: FieldSet,
}

impl ManagedFieldsEntry {
    /// True if it belongs to the writer and `operation`. Appliers have one entry for all versions.
    pub(crate) fn is_of(&self, write: &WriteRequest<'_>, operation: ManagedFieldsOperation) -> bool {
        self.operation == operation
            && self.manager == write.manager
            && self.subresource == write.route.target.subresource
            && (operation == ManagedFieldsOperation::Apply || self.api_version == write.route.api_version())
    }

    pub(crate) fn new(write: &WriteRequest<'_>, operation: ManagedFieldsOperation, fields: FieldSet) -> Self {
        Self {
            operation,
            time: write.time.clone(),
            manager: write.manager.clone(),
            api_version: write.route.api_version(),
            subresource: write.route.target.subresource.clone(),
            fields,
        }
    }
}

/// All entries, or none if one is unreadable.
pub(crate) fn read_entries(object: &Value) -> Vec<ManagedFieldsEntry> {
    let read = |json: &Value| {
        let entry = ManagedFieldsEntry::deserialize(json).ok()?;
        (json["fieldsType"] == "FieldsV1" && !entry.api_version.is_empty()).then_some(entry)
    };
    let entries = list(&object["metadata"], "managedFields").iter();
    entries.map(read).collect::<Option<_>>().unwrap_or_default()
}

/// Sets the owners in `new`, with which `write` replaces `live`.
pub(crate) fn track(live: Option<&Value>, new: &mut Value, write: &WriteRequest<'_>) {
    let blank = write.route.resource.blank();
    let old = live.unwrap_or(&blank);
    let is_whole = write.route.target.subresource.is_empty();
    // An empty list, or one with an empty entry, resets the owners.
    let is_reset = is_whole && [json!([]), json!([{}])].contains(&new["metadata"]["managedFields"]);
    let entries_of_client = if is_whole { read_entries(new) } else { Vec::new() };
    let mut entries = if is_reset || !entries_of_client.is_empty() {
        entries_of_client
    } else {
        read_entries(old)
    };
    // Entries of another group name other fields: drop them.
    let group = |version: &str| version.rsplit_once('/').map(|(group, _)| group.to_owned());
    let was_tracked = !entries.is_empty();
    entries.retain(|entry| group(&entry.api_version) == group(&write.route.api_version()));
    // Untracked objects stay untracked.
    if was_tracked || live.is_none() {
        update(&mut entries, old, new, write);
    }
    write_entries(new, entries);
}

/// Makes the writer the owner of the fields that it changed.
pub(crate) fn update(
    entries: &mut Vec<ManagedFieldsEntry>,
    old: &Value,
    new: &Value,
    write: &WriteRequest<'_>,
) {
    let mut changes = write.changes(entries, old, new);
    lose(entries, &changes);
    let change = changes.remove(&write.route.api_version());
    let changed_fields = change.unwrap_or_default().taken;
    let is_own = |entry: &&mut ManagedFieldsEntry| entry.is_of(write, ManagedFieldsOperation::Update);
    match entries.iter_mut().find(is_own) {
        _ if changed_fields.is_empty() => {}
        Some(entry) => {
            entry.fields.union(&changed_fields);
            entry.time = write.time.clone();
        }
        None => entries.push(ManagedFieldsEntry::new(
            write,
            ManagedFieldsOperation::Update,
            changed_fields,
        )),
    }
}

/// Removes changed and removed fields from all entries.
pub(crate) fn lose(entries: &mut Vec<ManagedFieldsEntry>, changes: &Changes) {
    entries.retain_mut(|entry| {
        // Entries of a version that no longer exists are dropped.
        let Some(change) = changes.get(&entry.api_version) else {
            return false;
        };
        entry.fields.subtract(&change.taken);
        entry.fields.subtract(&change.removed);
        !entry.fields.is_empty()
    });
}

/// Writes the entries into `object`.
pub(crate) fn write_entries(object: &mut Value, mut entries: Vec<ManagedFieldsEntry>) {
    let Value::Object(object) = object else { return };
    let metadata = metadata_mut(object);
    metadata.remove("managedFields");
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort();
    if !entries.is_empty() {
        metadata.insert("managedFields".into(), json!(entries));
    }
}

/// True if two objects differ at most in the times of their managers.
pub(crate) fn same_but_times(a: &Value, b: &Value) -> bool {
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
