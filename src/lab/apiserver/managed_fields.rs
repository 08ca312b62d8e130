//! Who owns which field: `metadata.managedFields`.
//!
//! A write is compared with what was there. What it added or changed becomes the writer's, and is taken from all
//! others; what it removed is nobody's any more. (Of applies, see [`super::apply`].)

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::context::Named;
use super::family;
use super::field_set::{Comparison, FieldSet, compare_objects};
use super::merge::Type;
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
    pub(super) fn of(&self) -> Type<'_> {
        Type::object(Some(&self.named.version().schema))
    }

    /// What a write changed, in the version in which an owner knows its fields. `None` when there is no such version.
    fn comparison(&self, api_version: &str, old: &Value, new: &Value) -> Option<Comparison> {
        if api_version == self.named.api_version() {
            let ignored = ignored_fields(self.named, self.subresource);
            return Some(compare_objects(old, new, self.of(), ignored));
        }
        let (old, new) = (self.convert(old, api_version)?, self.convert(new, api_version)?);
        // Of other versions, only writes to a subresource know what they cannot change.
        let ignored = match self.subresource {
            "" => &[],
            subresource => ignored_fields(self.named, subresource),
        };
        Some(compare_objects(
            &old,
            &new,
            self.of_version(api_version)?,
            ignored,
        ))
    }

    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let resource = &self.named.resource;
        let mut versions = resource.versions.iter();
        let version = versions.find(|version| resource.api_version(&version.name) == api_version)?;
        Some(&version.schema)
    }

    /// The type of the objects in another version.
    pub(super) fn of_version(&self, api_version: &str) -> Option<Type<'_>> {
        Some(Type::object(Some(self.schema(api_version)?)))
    }

    /// An object in another version.
    pub(super) fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let schema = self.schema(api_version)?;
        let mut object = object.clone();
        if object.get("apiVersion").is_some_and(|known| known != api_version) {
            object["apiVersion"] = api_version.into();
            prune(&mut object, schema);
        }
        Some(object)
    }
}

/// One manager's fields.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: String,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: String,
    pub(super) fields: FieldSet,
}

impl Entry {
    fn read(json: &Value) -> Option<Self> {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let entry = Entry {
            manager: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: text("time"),
            fields: FieldSet::from_fields(&json["fieldsV1"]),
        };
        let good = matches!(entry.operation.as_str(), "Update" | "Apply")
            && !entry.api_version.is_empty()
            && text("fieldsType") == "FieldsV1";
        good.then_some(entry)
    }

    fn to_value(&self) -> Value {
        let mut entry = Map::new();
        for (key, value) in [
            ("manager", &self.manager),
            ("operation", &self.operation),
            ("apiVersion", &self.api_version),
            ("time", &self.time),
        ] {
            if !value.is_empty() {
                entry.insert(key.into(), value.clone().into());
            }
        }
        entry.insert("fieldsType".into(), "FieldsV1".into());
        entry.insert("fieldsV1".into(), self.fields.to_fields());
        if !self.subresource.is_empty() {
            entry.insert("subresource".into(), self.subresource.clone().into());
        }
        entry.into()
    }

    /// What `writer` owns by `operation`. Those who apply do so in whatever version.
    pub(super) fn is_of(&self, writer: &Writer<'_>, operation: &str) -> bool {
        self.operation == operation
            && self.manager == writer.manager
            && self.subresource == writer.subresource
            && (operation == "Apply" || self.api_version == writer.named.api_version())
    }

    pub(super) fn new(writer: &Writer<'_>, operation: &str, fields: FieldSet) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            operation: operation.to_owned(),
            api_version: writer.named.api_version(),
            subresource: writer.subresource.to_owned(),
            time: writer.time.to_owned(),
            fields,
        }
    }
}

/// All entries, or none when one of them cannot be read.
pub(super) fn read_entries(object: Option<&Value>) -> Vec<Entry> {
    let list = object.and_then(|object| object["metadata"]["managedFields"].as_array());
    let entries: Option<Vec<Entry>> = list.into_iter().flatten().map(Entry::read).collect();
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
        super::meta::metadata_mut(object).remove("managedFields");
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
        match entries.iter_mut().find(|entry| entry.is_of(writer, "Update")) {
            Some(own) => {
                own.fields.union(&taken);
                own.time = writer.time.to_owned();
            }
            None => entries.push(Entry::new(writer, "Update", taken)),
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
    let changed = |entry: &Entry| writer.comparison(&entry.api_version, old, new);
    let both = entries
        .iter()
        .filter_map(|entry| Some((entry, changed(entry)?.taken.intersection(&entry.fields))));
    both.filter(|(_, fields)| !fields.is_empty()).collect()
}

/// Writes who owns the fields of `object` into it.
pub(super) fn write_entries(object: &mut Value, mut entries: Vec<Entry>) {
    let Value::Object(object) = object else { return };
    let metadata = super::meta::metadata_mut(object);
    metadata.remove("managedFields");
    entries.retain(|entry| !entry.fields.is_empty());
    entries.sort_by(|a, b| order(a).cmp(&order(b)));
    if !entries.is_empty() {
        metadata.insert(
            "managedFields".into(),
            entries.iter().map(Entry::to_value).collect(),
        );
    }
}

fn order(entry: &Entry) -> (&str, &str, &str, &str, &str) {
    (
        &entry.operation,
        &entry.time,
        &entry.manager,
        &entry.api_version,
        &entry.subresource,
    )
}

/// Keeps the number of updaters bounded: the oldest of each version share one entry.
fn merge_oldest(entries: &mut Vec<Entry>) {
    while entries.iter().filter(|entry| entry.operation == "Update").count() > MAX_MANAGERS {
        let mut updaters: Vec<Entry> = entries
            .iter()
            .filter(|entry| entry.operation == "Update")
            .cloned()
            .collect();
        updaters.sort_by(|a, b| order(a).cmp(&order(b)));
        let pair = updaters.iter().enumerate().find_map(|(i, later)| {
            let earlier = updaters[..i]
                .iter()
                .find(|entry| entry.api_version == later.api_version)?;
            Some((earlier.clone(), later.clone()))
        });
        let Some((earlier, later)) = pair else { return };
        entries.retain(|entry| order(entry) != order(&earlier) && order(entry) != order(&later));
        let mut fields = earlier.fields;
        fields.union(&later.fields);
        entries.push(Entry {
            manager: MERGED_MANAGER.to_owned(),
            subresource: String::new(),
            fields,
            ..later
        });
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
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("time");
            }
        }
        object
    };
    a["spec"] == b["spec"] && a["status"] == b["status"] && strip(a) == strip(b)
}
