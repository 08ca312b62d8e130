//! Who owns which field: `metadata.managedFields` of updates.
//!
//! A write is compared with what was there. What it added or changed becomes the writer's, and is taken from all
//! others; what it removed is nobody's any more.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::schema::{ListType, Schema, list_key};

/// More managers than this are merged into one.
const MAX_MANAGERS: usize = 10;
const MERGED_MANAGER: &str = "ancient-changes";

/// Metadata that nobody owns.
const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// The fields of metadata whose parts are owned one by one.
static METADATA: LazyLock<Value> = LazyLock::new(|| {
    json!({"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic"},
        },
    }})
});
static METADATA_SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::read_constant(&METADATA));

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

/// A set of fields: a tree whose edges are spelled as in FieldsV1 (`f:name`, `k:{"type":"Joined"}`, `v:1`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FieldSet {
    member: bool,
    children: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    fn from_fields(fields: &Value) -> Self {
        let mut set = FieldSet::default();
        let fields = fields.as_object();
        for (step, below) in fields.into_iter().flatten() {
            if step == "." {
                set.member = true;
                continue;
            }
            let mut child = Self::from_fields(below);
            child.member |= below.as_object().is_none_or(Map::is_empty);
            set.children.insert(step.clone(), child);
        }
        set
    }

    fn to_fields(&self) -> Value {
        let mut fields = Map::new();
        if self.member && !self.children.is_empty() {
            fields.insert(".".into(), json!({}));
        }
        for (step, below) in &self.children {
            fields.insert(step.clone(), below.to_fields());
        }
        fields.into()
    }

    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    fn insert(&mut self, path: &[String]) {
        let mut node = self;
        for step in path {
            node = node.children.entry(step.clone()).or_default();
        }
        node.member = true;
    }

    fn union(&mut self, other: &FieldSet) {
        self.member |= other.member;
        for (step, below) in &other.children {
            self.children.entry(step.clone()).or_default().union(below);
        }
    }

    fn subtract(&mut self, other: &FieldSet) {
        self.member &= !other.member;
        for (step, below) in &other.children {
            if let Some(child) = self.children.get_mut(step) {
                child.subtract(below);
                if child.is_empty() {
                    self.children.remove(step);
                }
            }
        }
    }
}

/// What a write did to an object.
#[derive(Debug, Default)]
struct Comparison {
    /// Added or changed.
    taken: FieldSet,
    removed: FieldSet,
}

impl Comparison {
    fn compare(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        schema: Option<&Schema>,
        path: &mut Vec<String>,
    ) {
        if old == new {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                self.compare_maps(Some(old), Some(new), schema, path);
            }
            (Some(Value::Object(old)), None) => self.compare_maps(Some(old), None, schema, path),
            (None, Some(Value::Object(new))) => self.compare_maps(None, Some(new), schema, path),
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                self.compare_lists(Some(old), Some(new), schema, path);
            }
            // A null is an empty value of the other's kind.
            (Some(Value::Null), Some(Value::Array(new))) => {
                self.compare_lists(Some(&Vec::new()), Some(new), schema, path);
            }
            (Some(Value::Array(old)), Some(Value::Null)) => {
                self.compare_lists(Some(old), Some(&Vec::new()), schema, path);
            }
            (Some(Value::Array(old)), None) => self.compare_lists(Some(old), None, schema, path),
            (None, Some(Value::Array(new))) => self.compare_lists(None, Some(new), schema, path),
            (Some(old), Some(new))
                if old.is_object() || old.is_array() || new.is_object() || new.is_array() =>
            {
                // Another kind of value: the old one goes with all its parts, the new one comes.
                self.compare(Some(old), None, schema, path);
                self.compare(None, Some(new), schema, path);
            }
            (old, new) => self.leaf(old.is_some(), new.is_some(), path),
        }
    }

    fn leaf(&mut self, was: bool, is: bool, path: &[String]) {
        match (was, is) {
            (_, true) => self.taken.insert(path),
            (true, false) => self.removed.insert(path),
            (false, false) => {}
        }
    }

    fn compare_maps(
        &mut self,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        schema: Option<&Schema>,
        path: &mut Vec<String>,
    ) {
        let empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
        let atomic = schema.is_some_and(|schema| schema.atomic_map);
        let leaf = atomic || empty(old) && empty(new);
        if leaf || old.is_none() || new.is_none() {
            self.leaf(old.is_some(), new.is_some(), path);
        }
        if leaf {
            return;
        }
        let names_old = old.into_iter().flat_map(Map::keys);
        let names_new = new.into_iter().flat_map(Map::keys);
        let only_new = names_new.filter(|name| old.is_none_or(|old| !old.contains_key(*name)));
        for name in names_old.chain(only_new) {
            path.push(format!("f:{name}"));
            let below = schema.and_then(|schema| schema.field(name));
            self.compare(
                old.and_then(|old| old.get(name)),
                new.and_then(|new| new.get(name)),
                below,
                path,
            );
            path.pop();
        }
    }

    fn compare_lists(
        &mut self,
        old: Option<&Vec<Value>>,
        new: Option<&Vec<Value>>,
        schema: Option<&Schema>,
        path: &mut Vec<String>,
    ) {
        let empty = |list: Option<&Vec<Value>>| list.is_none_or(Vec::is_empty);
        let keyed = schema.filter(|schema| schema.list_type != ListType::Atomic);
        let leaf = keyed.is_none() || empty(old) && empty(new);
        if leaf || old.is_none() || new.is_none() {
            self.leaf(old.is_some(), new.is_some(), path);
        }
        let Some(schema) = keyed.filter(|_| !leaf) else {
            return;
        };
        let step = |item: &Value| match schema.list_type {
            ListType::Map => format!("k:{}", Value::Object(sorted(list_key(item, schema)))),
            _ => format!("v:{item}"),
        };
        let index = |list: Option<&Vec<Value>>| -> BTreeMap<String, Value> {
            let items = list.into_iter().flatten();
            items.map(|item| (step(item), item.clone())).collect()
        };
        let (old, new) = (index(old), index(new));
        let only_new = new.keys().filter(|step| !old.contains_key(*step));
        for step in old.keys().chain(only_new) {
            path.push(step.clone());
            self.compare(old.get(step), new.get(step), schema.items.as_deref(), path);
            path.pop();
        }
    }
}

/// Keys of an item in the order of their names, whatever order maps have.
fn sorted(map: Map<String, Value>) -> Map<String, Value> {
    let sorted: BTreeMap<String, Value> = map.into_iter().collect();
    sorted.into_iter().collect()
}

/// Compares whole objects, leaving out what nobody owns and what the write cannot change.
fn compare_objects(old: &Value, new: &Map<String, Value>, schema: &Schema, ignored: &[&str]) -> Comparison {
    let mut comparison = Comparison::default();
    let nothing = Map::new();
    let old = old.as_object().unwrap_or(&nothing);
    let only_new = new.keys().filter(|name| !old.contains_key(*name));
    for name in old.keys().chain(only_new) {
        if name == "apiVersion" || name == "kind" || ignored.contains(&name.as_str()) {
            continue;
        }
        let mut path = vec![format!("f:{name}")];
        let (old, new) = (old.get(name), new.get(name));
        if name != "metadata" {
            comparison.compare(old, new, schema.field(name), &mut path);
            continue;
        }
        let (old, new) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
        let fields_old = old.into_iter().flat_map(Map::keys);
        let fields_new = new.into_iter().flat_map(Map::keys);
        let only_new = fields_new.filter(|field| old.is_none_or(|old| !old.contains_key(*field)));
        for field in fields_old.chain(only_new) {
            if UNOWNED_METADATA.contains(&field.as_str()) {
                continue;
            }
            path.push(format!("f:{field}"));
            let (old, new) = (
                old.and_then(|old| old.get(field)),
                new.and_then(|new| new.get(field)),
            );
            comparison.compare(old, new, METADATA_SCHEMA.field(field), &mut path);
            path.pop();
        }
    }
    comparison
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
    let Value::Object(object) = new else { return };
    super::meta::metadata_mut(object).remove("managedFields");
    // Objects that were not tracked from the start are not tracked later.
    if entries.is_empty() && live.is_some() {
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
