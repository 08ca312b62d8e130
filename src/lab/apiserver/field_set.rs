//! Sets of fields, and the comparison of two objects field by field.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::schema::ListType;
use super::typed::Type;

/// Metadata that nobody owns.
const UNOWNED_METADATA: [&str; 9] = [
    "f:name",
    "f:namespace",
    "f:creationTimestamp",
    "f:selfLink",
    "f:uid",
    "f:clusterName",
    "f:generation",
    "f:managedFields",
    "f:resourceVersion",
];

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

    /// Whether the value itself is in the set, besides parts of it.
    pub(super) fn has_self(&self) -> bool {
        self.member
    }

    pub(super) fn add_self(&mut self) {
        self.member = true;
    }

    pub(super) fn child(&self, step: &str) -> Option<&FieldSet> {
        self.children.get(step)
    }

    pub(super) fn children(&self) -> impl Iterator<Item = (&String, &FieldSet)> {
        self.children.iter()
    }

    pub(super) fn add(&mut self, step: String, below: FieldSet) {
        if !below.is_empty() {
            self.children.insert(step, below);
        }
    }

    /// Takes away what nobody owns.
    pub(super) fn strip(&mut self) {
        self.children
            .retain(|step, _| step != "f:apiVersion" && step != "f:kind");
        if let Some(metadata) = self.children.get_mut("f:metadata") {
            metadata.member = false;
            metadata
                .children
                .retain(|step, _| !UNOWNED_METADATA.contains(&step.as_str()));
        }
        self.children.retain(|_, below| !below.is_empty());
    }

    /// Takes these fields of the object away, with all that is below them.
    pub(super) fn exclude(&mut self, fields: &[&str]) {
        self.children
            .retain(|step, _| !fields.iter().any(|field| step.strip_prefix("f:") == Some(*field)));
    }

    pub(super) fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut both = FieldSet {
            member: self.member && other.member,
            children: BTreeMap::new(),
        };
        for (step, below) in &self.children {
            if let Some(others) = other.children.get(step) {
                both.add(step.clone(), below.intersection(others));
            }
        }
        both
    }

    /// The paths of the fields, those of a level before those below it. Each step is spelled by `spell`.
    pub(super) fn paths(&self, spell: fn(&str) -> String) -> Vec<String> {
        let members = self.children.iter().filter(|(_, below)| below.member);
        let mut paths: Vec<String> = members.map(|(step, _)| spell(step)).collect();
        for (step, below) in &self.children {
            let start = spell(step);
            paths.extend(below.paths(spell).iter().map(|rest| format!("{start}{rest}")));
        }
        paths
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
    fn compare(&mut self, old: Option<&Value>, new: Option<&Value>, of: Type<'_>, path: &mut Vec<String>) {
        if old == new {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                self.compare_maps(Some(old), Some(new), of, path);
            }
            (Some(Value::Object(old)), None) => self.compare_maps(Some(old), None, of, path),
            (None, Some(Value::Object(new))) => self.compare_maps(None, Some(new), of, path),
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                self.compare_lists(Some(old), Some(new), of, path);
            }
            // A null is an empty value of the other's kind.
            (Some(Value::Null), Some(Value::Array(new))) => {
                self.compare_lists(Some(&Vec::new()), Some(new), of, path);
            }
            (Some(Value::Array(old)), Some(Value::Null)) => {
                self.compare_lists(Some(old), Some(&Vec::new()), of, path);
            }
            (Some(Value::Null), Some(Value::Object(new))) => {
                self.compare_maps(Some(&Map::new()), Some(new), of, path);
            }
            (Some(Value::Object(old)), Some(Value::Null)) => {
                self.compare_maps(Some(old), Some(&Map::new()), of, path);
            }
            (Some(Value::Array(old)), None) => self.compare_lists(Some(old), None, of, path),
            (None, Some(Value::Array(new))) => self.compare_lists(None, Some(new), of, path),
            (Some(old), Some(new))
                if old.is_object() || old.is_array() || new.is_object() || new.is_array() =>
            {
                // Another kind of value: the old one goes with all its parts, the new one comes.
                self.compare(Some(old), None, of, path);
                self.compare(None, Some(new), of, path);
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
        of: Type<'_>,
        path: &mut Vec<String>,
    ) {
        let empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
        let leaf = of.is_atomic_map() || empty(old) && empty(new);
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
            let below = of.field(name).unwrap_or(Type::ANY);
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
        of: Type<'_>,
        path: &mut Vec<String>,
    ) {
        let empty = |list: Option<&Vec<Value>>| list.is_none_or(Vec::is_empty);
        let leaf = of.list_type() == ListType::Atomic || empty(old) && empty(new);
        if leaf || old.is_none() || new.is_none() {
            self.leaf(old.is_some(), new.is_some(), path);
        }
        if leaf {
            return;
        }
        let index = |list: Option<&Vec<Value>>| -> BTreeMap<String, Value> {
            let items = list.into_iter().flatten();
            items
                .filter_map(|item| Some((of.step(item).ok()?, item.clone())))
                .collect()
        };
        let (old, new) = (index(old), index(new));
        let only_new = new.keys().filter(|step| !old.contains_key(*step));
        for step in old.keys().chain(only_new) {
            path.push(step.clone());
            self.compare(old.get(step), new.get(step), of.item(), path);
            path.pop();
        }
    }
}

/// Compares whole objects, leaving out what nobody owns and what the write cannot change.
pub(super) fn compare_objects(old: &Value, new: &Value, of: Type<'_>, ignored: &[&str]) -> Comparison {
    let mut comparison = Comparison::default();
    let nothing = json!({});
    let old = if old.is_object() { old } else { &nothing };
    comparison.compare(Some(old), Some(new), of, &mut Vec::new());
    for set in [&mut comparison.taken, &mut comparison.removed] {
        set.strip();
        set.exclude(ignored);
    }
    // A field whose value gave way to another kind of value is taken, not removed.
    comparison.removed.subtract(&comparison.taken);
    comparison
}
