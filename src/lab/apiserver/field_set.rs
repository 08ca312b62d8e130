//! Sets of fields, and the comparison of two objects field by field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::schema::{ListType, Schema, list_key};

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

/// A set of fields: a tree whose edges are spelled as in FieldsV1 (`f:name`, `k:{"type":"Joined"}`, `v:1`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    member: bool,
    children: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    pub(super) fn from_fields(fields: &Value) -> Self {
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

    pub(super) fn to_fields(&self) -> Value {
        let mut fields = Map::new();
        if self.member && !self.children.is_empty() {
            fields.insert(".".into(), json!({}));
        }
        for (step, below) in &self.children {
            fields.insert(step.clone(), below.to_fields());
        }
        fields.into()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    fn insert(&mut self, path: &[String]) {
        let mut node = self;
        for step in path {
            node = node.children.entry(step.clone()).or_default();
        }
        node.member = true;
    }

    pub(super) fn union(&mut self, other: &FieldSet) {
        self.member |= other.member;
        for (step, below) in &other.children {
            self.children.entry(step.clone()).or_default().union(below);
        }
    }

    pub(super) fn subtract(&mut self, other: &FieldSet) {
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
pub(super) struct Comparison {
    /// Added or changed.
    pub(super) taken: FieldSet,
    pub(super) removed: FieldSet,
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
pub(super) fn compare_objects(
    old: &Value,
    new: &Map<String, Value>,
    schema: &Schema,
    ignored: &[&str],
) -> Comparison {
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
