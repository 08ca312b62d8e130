//! Values as their schema sees them: which fields they have, and what becomes of one when another is applied to it.
//! The rules are those of structured merge, by which the real server decides who owns what.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::field::quoted;
use super::field_set::FieldSet;
use super::schema::{Extra, ListType, Schema, Type as Kind, list_key};

/// Metadata as it is owned: labels, annotations, finalizers and owners one by one.
static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    Schema::read_constant(&json!({"type": "object", "properties": {
        "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
        "resourceVersion": text, "creationTimestamp": text, "deletionTimestamp": text,
        "generation": number, "deletionGracePeriodSeconds": number,
        "labels": texts, "annotations": texts,
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "apiVersion": text, "kind": text, "name": text, "uid": text,
                "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
            }},
        },
        "managedFields": {"type": "array", "items": {"type": "object"}},
    }}))
});
static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema::read_constant(&json!({"type": "string"})));

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type<'a> {
    /// `None`: any value, whose maps are owned field by field and whose lists as a whole.
    schema: Option<&'a Schema>,
    /// It has `apiVersion`, `kind` and `metadata` besides what the schema says.
    is_object: bool,
    /// Somewhere above, unknown fields are preserved.
    is_lenient: bool,
}

/// How a value is looked at, whatever it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Map,
    List,
    Scalar,
}

impl<'a> Type<'a> {
    /// A value of which nothing is known.
    pub(super) const ANY: Type<'static> = Type {
        schema: None,
        is_object: false,
        is_lenient: true,
    };

    /// A whole object of the API.
    pub(super) fn object(schema: Option<&'a Schema>) -> Self {
        Self {
            is_object: true,
            is_lenient: schema.is_none(),
            schema,
        }
    }

    fn known(schema: &'a Schema, is_lenient: bool) -> Self {
        Self {
            schema: Some(schema),
            is_object: schema.embedded_resource,
            is_lenient: is_lenient || schema.preserve_unknown,
        }
    }

    /// The type of the field `name`. `None` when there is no such field.
    pub(super) fn field(self, name: &str) -> Option<Type<'a>> {
        match (name, self.schema) {
            ("metadata", _) if self.is_object => return Some(Type::known(&METADATA, false)),
            ("apiVersion" | "kind", _) if self.is_object => return Some(Type::known(&TEXT, false)),
            (_, None) => return Some(Type::ANY),
            _ => {}
        }
        let schema = self.schema?;
        let is_free = matches!(schema.extra, Extra::Any)
            || self.is_lenient
            || schema.preserve_unknown
            || schema.properties.is_empty() && !self.is_object;
        let known = schema
            .field(name)
            .map(|known| Type::known(known, self.is_lenient));
        known.or(is_free.then_some(Type::ANY))
    }

    /// Whether the schema names the field, instead of describing all fields alike.
    pub(super) fn names(self, name: &str) -> bool {
        let is_meta = self.is_object && matches!(name, "apiVersion" | "kind" | "metadata");
        is_meta
            || self
                .schema
                .is_some_and(|schema| schema.properties.contains_key(name))
    }

    pub(super) fn item(self) -> Type<'a> {
        let items = self.schema.and_then(|schema| schema.items.as_deref());
        items.map_or(Type::ANY, |items| Type::known(items, self.is_lenient))
    }

    pub(super) fn is_atomic_map(self) -> bool {
        self.schema.is_some_and(|schema| schema.atomic_map)
    }

    pub(super) fn list_type(self) -> ListType {
        self.schema.map_or(ListType::Atomic, |schema| schema.list_type)
    }

    /// The fields by which the items of a list are told apart; none for sets.
    pub(super) fn keys(self) -> &'a [String] {
        self.schema.map_or(&[], |schema| &schema.list_map_keys)
    }

    pub(super) fn kind(self) -> Option<Kind> {
        match self.schema.map(|schema| schema.types.as_slice()) {
            Some([kind]) => Some(*kind),
            _ => None,
        }
    }

    pub(super) fn shape(self, value: &Value) -> Shape {
        match (self.kind(), value) {
            (Some(Kind::Object), _) | (None, Value::Object(_) | Value::Null) => Shape::Map,
            (Some(Kind::Array), _) | (None, Value::Array(_)) => Shape::List,
            _ => Shape::Scalar,
        }
    }

    /// Whether a value of this shape has no parts to own.
    fn is_atomic(self, shape: Shape) -> bool {
        match shape {
            Shape::Map => self.is_atomic_map(),
            Shape::List => self.list_type() == ListType::Atomic,
            Shape::Scalar => true,
        }
    }

    /// What tells an item of a list from the others, as FieldsV1 spells it. The error says why nothing does.
    pub(super) fn step(self, item: &Value) -> Result<String, String> {
        match (self.schema, item) {
            (Some(schema), Value::Object(_)) if schema.list_type == ListType::Map => {
                let key = list_key(item, schema);
                match key.is_empty() {
                    false => Ok(format!("k:{}", Value::Object(key))),
                    true => Err(format!(
                        "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                         default values for any key fields)",
                        self.keys()
                            .iter()
                            .map(|key| quoted(key))
                            .collect::<Vec<_>>()
                            .join(" ")
                    )),
                }
            }
            (Some(schema), _) if schema.list_type == ListType::Map => Err(match item {
                Value::Null => "associative list with keys may not have a null element".to_owned(),
                _ => "associative list with keys may not have non-map elements".to_owned(),
            }),
            (_, Value::Object(_)) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            (_, Value::Array(_)) => Err("not supported: associative list with lists as elements".to_owned()),
            (_, Value::Null) => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            _ => Ok(format!("v:{item}")),
        }
    }

    /// The steps to the items of a list, in its order; none for what is no list.
    pub(super) fn steps(self, list: Option<&Value>) -> Vec<(String, Value)> {
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items
            .filter_map(|item| Some((self.step(item).ok()?, item.clone())))
            .collect()
    }
}

/// A step of a path as messages tell it: `.name`, `[type="Joined"]`, `[="v"]`.
pub(super) fn told(step: &str) -> String {
    let (kind, rest) = step.split_once(':').unwrap_or(("f", step));
    match (kind, serde_json::from_str(rest)) {
        ("k", Ok(Value::Object(key))) => {
            let fields: Vec<String> = key
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!("[{}]", fields.join(","))
        }
        ("v", Ok(value)) => format!("[={value}]"),
        ("i", _) => format!("[{rest}]"),
        _ => format!(".{rest}"),
    }
}

/// The fields that a value has.
pub(super) fn fields_of(value: &Value, of: Type<'_>) -> FieldSet {
    let shape = of.shape(value);
    let mut set = FieldSet::default();
    if of.is_atomic(shape) {
        set.add_self();
        return set;
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let mut below = fields_of(field, of.field(name).unwrap_or(Type::ANY));
        let is_nothing = field.is_null() || field.as_object().is_some_and(Map::is_empty);
        if is_nothing || !of.names(name) {
            below.add_self();
        }
        set.add(format!("f:{name}"), below);
    }
    for (step, item) in of.steps(Some(value)) {
        let mut below = fields_of(&item, of.item());
        below.add_self();
        set.add(step, below);
    }
    set
}

/// What becomes of `live` when `applied` is applied to it: no field goes, and of a field that both have, the applied
/// one stays.
pub(super) fn merge(live: Option<&Value>, applied: Option<&Value>, of: Type<'_>) -> Option<Value> {
    let newest = applied.or(live)?;
    let shape = of.shape(newest);
    // A value of another shape has nothing to merge with.
    let live = live.filter(|live| of.shape(live) == shape);
    let is_empty = |value: Option<&Value>| match value {
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => true,
    };
    if of.is_atomic(shape) || is_empty(live) && is_empty(applied) {
        return Some(newest.clone());
    }
    if shape == Shape::List {
        return Some(merge_lists(of.steps(live), of.steps(applied), of.item()).into());
    }
    let fields = |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let (mut merged, applied) = (fields(live), fields(applied));
    for (name, field) in applied {
        let below = of.field(&name).unwrap_or(Type::ANY);
        if let Some(field) = merge(merged.get(&name), Some(&field), below) {
            merged.insert(name, field);
        }
    }
    Some(merged.into())
}

/// Both lists' items: in the order of the applied one, and among those the others as near as they were.
fn merge_lists(live: Vec<(String, Value)>, applied: Vec<(String, Value)>, of: Type<'_>) -> Vec<Value> {
    let find = |list: &[(String, Value)], step: &str| list.iter().position(|(known, _)| known == step);
    let mut shared = applied
        .iter()
        .filter(|(step, _)| find(&live, step).is_some())
        .map(|(step, _)| step);
    let mut next = shared.next();
    let mut merged = Vec::with_capacity(live.len().max(applied.len()));
    let (mut l, mut a) = (0, 0);
    while l < live.len() || a < applied.len() {
        if let Some((step, item)) = live.get(l) {
            match find(&applied, step) {
                // Nobody applies it: it stays where it is.
                None => {
                    merged.push(item.clone());
                    l += 1;
                    continue;
                }
                Some(place) if place == a => l += 1,
                // Another item of both lists comes first.
                Some(_) if a < applied.len() && next.is_some_and(|next| next != step) => {
                    l += 1;
                    continue;
                }
                Some(place) if place < a => l += 1,
                Some(_) => {}
            }
        }
        let Some((step, item)) = applied.get(a) else {
            continue;
        };
        let before = find(&live, step).map(|place| &live[place].1);
        merged.extend(merge(before, Some(item), of));
        if next == Some(step) {
            next = shared.next();
        }
        a += 1;
    }
    merged
}

/// The value without these fields and items.
pub(super) fn remove(value: &Value, fields: &FieldSet, of: Type<'_>) -> Value {
    let shape = of.shape(value);
    if shape == Shape::Scalar {
        return value.clone();
    }
    if of.is_atomic(shape) {
        return Value::Null;
    }
    let without = |step: &str, part: &Value, of: Type<'_>| match fields.child(step) {
        Some(below) if below.has_self() => None,
        Some(below) => Some(remove(part, below, of)),
        None => Some(part.clone()),
    };
    if shape == Shape::List {
        let items = of.steps(Some(value));
        let left: Vec<Value> = items
            .iter()
            .filter_map(|(step, item)| without(step, item, of.item()))
            .collect();
        return if left.is_empty() { Value::Null } else { left.into() };
    }
    let parts = value.as_object().into_iter().flatten();
    let left: Map<String, Value> = parts
        .filter_map(|(name, part)| {
            let below = of.field(name).unwrap_or(Type::ANY);
            Some((name.clone(), without(&format!("f:{name}"), part, below)?))
        })
        .collect();
    if left.is_empty() { Value::Null } else { left.into() }
}

/// The set, with the fields that the schema names and below which it has others.
pub(super) fn with_named(fields: &FieldSet, of: Type<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for (step, below) in fields.children() {
        let name = step.strip_prefix("f:");
        let known = match name {
            Some(name) => of.field(name).unwrap_or(Type::ANY),
            None if step.starts_with("k:") => of.item(),
            None => Type::ANY,
        };
        let mut with = with_named(below, known);
        if below.has_self() || name.is_some_and(|name| of.names(name)) {
            with.add_self();
        }
        set.add(step.clone(), with);
    }
    set
}
