//! Who owns which field: `metadata.managedFields` of updates.
//!
//! A write is compared with what was there. What it added or changed becomes the writer's, and is taken from all
//! others; what it removed is nobody's any more.

use serde_json::{Map, Value};

use super::field_set::{FieldSet, compare_objects};
use super::schema::Schema;

/// More managers than this are merged into one.
const MAX_MANAGERS: usize = 10;
const MERGED_MANAGER: &str = "ancient-changes";

/// Who writes, and what it may write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer<'a> {
    pub(super) manager: &'a str,
    pub(super) api_version: &'a str,
    /// Empty for the object itself.
    pub(super) subresource: &'a str,
    /// RFC 3339, in seconds.
    pub(super) time: &'a str,
    /// Top-level fields that such a write cannot change.
    pub(super) ignored: &'a [&'a str],
    /// What an object is before it is created.
    pub(super) blank: &'a Value,
}

/// One manager's fields.
#[derive(Clone, Debug)]
struct Entry {
    manager: String,
    operation: String,
    api_version: String,
    subresource: String,
    time: String,
    fields: FieldSet,
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

    fn is_of(&self, writer: &Writer<'_>) -> bool {
        self.operation == "Update"
            && self.manager == writer.manager
            && self.api_version == writer.api_version
            && self.subresource == writer.subresource
    }
}

/// All entries, or none when one of them cannot be read.
fn read_entries(object: Option<&Value>) -> Vec<Entry> {
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
pub(super) fn track(live: Option<&Value>, new: &mut Value, schema: &Schema, writer: &Writer<'_>) {
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
    entries.retain(|entry| group(&entry.api_version) == group(writer.api_version));
    let Value::Object(object) = new else { return };
    super::meta::metadata_mut(object).remove("managedFields");
    // Objects that were not tracked from the start are not tracked later.
    if !was_tracked && live.is_some() {
        return;
    }
    let mut comparison = compare_objects(live.unwrap_or(writer.blank), object, schema, writer.ignored);
    // A field whose value gave way to another kind of value is taken, not removed.
    let taken = comparison.taken.clone();
    comparison.removed.subtract(&taken);
    for entry in &mut entries {
        entry.fields.subtract(&comparison.taken);
        entry.fields.subtract(&comparison.removed);
    }
    if !comparison.taken.is_empty() {
        match entries.iter_mut().find(|entry| entry.is_of(writer)) {
            Some(own) => {
                own.fields.union(&comparison.taken);
                own.time = writer.time.to_owned();
            }
            None => entries.push(Entry {
                manager: writer.manager.to_owned(),
                operation: "Update".to_owned(),
                api_version: writer.api_version.to_owned(),
                subresource: writer.subresource.to_owned(),
                time: writer.time.to_owned(),
                fields: comparison.taken,
            }),
        }
    }
    entries.retain(|entry| !entry.fields.is_empty());
    merge_oldest(&mut entries);
    entries.sort_by(|a, b| order(a).cmp(&order(b)));
    if !entries.is_empty() {
        let entries = entries.iter().map(Entry::to_value).collect();
        super::meta::metadata_mut(object).insert("managedFields".into(), entries);
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
