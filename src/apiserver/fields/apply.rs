//! Server-side apply: a client sends the fields it wants and becomes their owner. Fields it no longer sends are
//! removed, unless they have other owners. Changing fields of other owners is a conflict.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    field_set::FieldSet,
    managed_fields::{
        Changes, ManagedFieldsEntry, ManagedFieldsOperation, lose, read_entries, update, write_entries,
    },
    merge::{ValueSchema, compare_objects, fields_of, merge, remove, with_named},
};
use crate::{
    fields::{managed_fields::WriteRequest, merge::errors},
    object::{
        field::quoted,
        json::text,
        meta,
        status::{HandlerResult, StatusFailure},
    },
};

/// The manager that may take over from its client-side applies.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Applies `config` to `live`, or to a blank object, and updates the owners. `fit` fits the merged object to the
/// resource.
pub(crate) fn applied(
    live: Option<&Value>,
    config: &Value,
    write: &WriteRequest<'_>,
    fit: impl FnOnce(Map<String, Value>) -> HandlerResult<Value>,
) -> HandlerResult<Value> {
    let mut blank = write.route.resource.blank();
    blank["apiVersion"] = write.route.api_version().into();
    blank["kind"] = write.route.resource.kind.clone().into();
    let live = live.unwrap_or(&blank);
    let of = ValueSchema::object(Some(&write.route.version().schema));
    check(config, of, write)?;
    let mut entries = read_entries(live);
    if entries.is_empty() {
        let manager = "before-first-apply".to_owned();
        let before = WriteRequest {
            manager,
            ..write.clone()
        };
        update(&mut entries, &blank, live, &before);
    }
    let mut fields = fields_of(config, of);
    fields.exclude(write.route.ignored_fields());
    let mut own_entry = ManagedFieldsEntry::new(write, ManagedFieldsOperation::Apply, fields);
    let is_own = |entry: &ManagedFieldsEntry| entry.is_of(write, ManagedFieldsOperation::Apply);
    let last = entries.iter().position(is_own);
    let last = last.map(|place| entries.remove(place));
    let mut merged = merge(live, config, of);
    if let Some(last) = &last {
        let all: Vec<&ManagedFieldsEntry> = entries.iter().chain([&own_entry]).collect();
        merged = give_up(&merged, last, &all, write).unwrap_or(merged);
    }
    let changes = write.changes(&entries, live, &merged);
    if !write.force {
        let applied = applied_by_client(live, of, write).unwrap_or_default();
        check_conflicts(&entries, &changes, &applied)?;
    }
    lose(&mut entries, &changes);
    own_entry.fields.strip();
    let is_changed = merged != *live;
    if !is_changed {
        own_entry.time = last.map(|last| last.time).unwrap_or_default();
    }
    entries.push(own_entry);
    let mut object = live.clone();
    if is_changed && let Value::Object(merged) = merged {
        object = fit(merged)?;
    }
    write_entries(&mut object, entries);
    let annotation = annotations(&mut object).and_then(|annotations| annotations.get_mut(LAST_APPLIED));
    if write.manager == KUBECTL
        && let Some(annotation) = annotation.filter(|text| *text != "")
    {
        let mut config = config.clone();
        annotations(&mut config).map(|annotations| annotations.remove(LAST_APPLIED));
        *annotation = format!("{config}\n").into();
    }
    Ok(object)
}

fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.pointer_mut("/metadata/annotations")?.as_object_mut()
}

/// Refuses configurations that cannot be applied.
fn check(config: &Value, of: ValueSchema<'_>, write: &WriteRequest<'_>) -> HandlerResult<()> {
    let (api_version, kind) = (text(config, "apiVersion"), text(config, "kind"));
    let slash = if api_version.contains('/') { "" } else { "/" };
    let shown_kind = format!("{slash}{api_version}, Kind={kind}");
    if (api_version, kind) != (&write.route.api_version(), &write.route.resource.kind) {
        return Err(StatusFailure::bad_request(format!(
            "invalid object type: {shown_kind}"
        )));
    }
    if config["metadata"]["managedFields"].is_array() {
        return Err(StatusFailure::bad_request("metadata.managedFields must be nil"));
    }
    let wrong = errors(config, of);
    let wrong = match wrong.as_slice() {
        [] => return Ok(()),
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    let [namespace, name] = ["namespace", "name"].map(|field| meta::text(config, field));
    let why = format!("failed to create typed patch object ({namespace}/{name}; {shown_kind}): {wrong}");
    Err(StatusFailure::internal(why))
}

/// Removes the fields that the applier owned, no longer sends, and does not share with another manager. `None` if it owned them in a
/// version that no longer exists.
fn give_up(
    merged: &Value,
    last: &ManagedFieldsEntry,
    entries: &[&ManagedFieldsEntry],
    write: &WriteRequest<'_>,
) -> Option<Value> {
    let fields_in = |value: &Value, version: &str| {
        let (value, of) = write.view(value, version)?;
        Some(with_named(&fields_of(&value, of), of))
    };
    let difference = |rest: &Value, version: &str| {
        let mut fields = fields_in(merged, version)?;
        fields.subtract(&fields_in(rest, version)?);
        Some(fields)
    };
    let first = last.api_version.as_str();
    let (whole, of) = write.view(merged, first)?;
    let owned_before = with_named(&last.fields, of);
    let mut rest = remove(&whole, &owned_before, of);
    let mut versions: BTreeMap<&str, FieldSet> = BTreeMap::new();
    for entry in entries {
        let owned = versions.entry(&entry.api_version).or_default();
        owned.union(&entry.fields);
    }
    // Fields with owners come back, in the version in which they are owned.
    let owned_first = versions.remove_entry(first);
    for (version, owned) in owned_first.into_iter().chain(versions) {
        let Some(mut fields) = difference(&rest, version) else {
            continue;
        };
        let (merged, of) = write.view(merged, version)?;
        fields.subtract(&with_named(&owned, of));
        rest = remove(&merged, &fields, of);
    }
    // Fields that the applier never owned come back, too.
    let fields = difference(&rest, first)?.intersection(&owned_before);
    let rest = remove(&whole, &fields, of);
    let (rest, _) = write.view(&rest, &write.route.api_version())?;
    Some(rest.into_owned())
}

/// Fails if the apply changes fields of other owners.
fn check_conflicts(
    entries: &[ManagedFieldsEntry],
    changes: &Changes,
    excused: &FieldSet,
) -> HandlerResult<()> {
    let changed = entries.iter().filter_map(|entry| {
        let change = changes.get(&entry.api_version)?;
        let mut fields = change.taken.intersection(&entry.fields);
        fields.subtract(excused);
        (!fields.is_empty()).then_some((entry, fields))
    });
    let mut owned: Vec<(&ManagedFieldsEntry, FieldSet)> = changed.collect();
    owned.sort_by(|(a, _), (b, _)| a.rank().cmp(&b.rank()));
    let owners = owned
        .iter()
        .map(|(owner, fields)| (owner.describe(), fields.paths()));
    let owners: Vec<(String, Vec<String>)> = owners.collect();
    let causes = owners.iter().flat_map(|(owner, paths)| {
        let message = format!("conflict with {owner}");
        let cause = move |path| json!({"reason": "FieldManagerConflict", "message": message, "field": path});
        paths.iter().map(cause)
    });
    let causes: Vec<Value> = causes.collect();
    let why = match (owners.as_slice(), causes.len()) {
        (_, 0) => return Ok(()),
        ([(owner, paths)], 1) => format!("1 conflict: conflict with {owner}: {}", paths[0]),
        (_, count) => {
            let lines = owners
                .iter()
                .map(|(owner, paths)| format!("conflicts with {owner}:\n- {}", paths.join("\n- ")));
            format!("{count} conflicts: {}", lines.collect::<Vec<_>>().join("\n"))
        }
    };
    let failure = StatusFailure::new(409, "Conflict", format!("Apply failed with {why}"));
    Err(failure.with(json!({"causes": causes})))
}

impl ManagedFieldsEntry {
    /// The order of owners in messages.
    fn rank(&self) -> impl Ord {
        let version = (self.operation == ManagedFieldsOperation::Update).then_some(&self.api_version);
        let subresource = (self.subresource.is_empty(), &self.subresource);
        (&self.manager, self.operation, version, subresource)
    }

    /// The owner's name in messages. For an apply, that is the manager alone.
    fn describe(&self) -> String {
        let mut owner = quoted(&self.manager);
        if !self.subresource.is_empty() {
            owner = format!("{owner} with subresource {}", quoted(&self.subresource));
        }
        match self.operation {
            ManagedFieldsOperation::Update => format!("{owner} using {}", self.api_version),
            ManagedFieldsOperation::Apply => owner,
        }
    }
}

/// The fields of kubectl's last client-side apply that are still as applied. kubectl may take them over.
fn applied_by_client(live: &Value, of: ValueSchema<'_>, write: &WriteRequest<'_>) -> Option<FieldSet> {
    let text = live["metadata"]["annotations"][LAST_APPLIED].as_str();
    let text = text.filter(|_| write.manager == KUBECTL)?;
    let config: Value = serde_json::from_str(text).ok()?;
    if config["apiVersion"] != write.route.api_version() || !errors(&config, of).is_empty() {
        return None;
    }
    let mut fields = fields_of(&config, of);
    let since = compare_objects(&config, live, of, &[]);
    fields.subtract(&since.taken);
    fields.subtract(&since.removed);
    Some(fields)
}
