//! Structured merge: the fields of a value by its schema, comparison, merge and removal. kube-apiserver decides by the
//! same rules who owns what.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde_json::{Map, Value};

use crate::{
    fields::field_set::{FieldSet, display_step},
    object::field::quoted,
    schema::{Extra, JsonType, ListType, Schema, list_key},
    typed,
};

/// Why an item of an associative list has no identity.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemError {
    /// With the names of the key fields, in quotes.
    #[error(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
         any key fields)",
        keys.join(" ")
    )]
    NoKeys { keys: Vec<String> },
    #[error("associative list with keys may not have a null element")]
    KeyedNull,
    #[error("associative list with keys may not have non-map elements")]
    KeyedScalar,
    #[error("associative list without keys has an element that's a map type")]
    SetOfMaps,
    #[error("not supported: associative list with lists as elements")]
    SetOfLists,
    #[error("associative list without keys has an element that's an explicit null")]
    SetOfNulls,
}

/// The schema of what all objects have: `apiVersion`, `kind` and `metadata`.
static OBJECT: LazyLock<Schema> = LazyLock::new(|| Schema::read_constant(&typed::OBJECT));

/// What is known about a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueSchema<'a> {
    /// `None` for any value: its maps are granular, its lists atomic.
    schema: Option<&'a Schema>,
    /// It has `apiVersion`, `kind` and `metadata` besides what the schema says.
    is_object: bool,
    /// A parent preserves unknown fields.
    is_lenient: bool,
}

impl<'a> ValueSchema<'a> {
    /// A value without a schema.
    pub(crate) const ANY: ValueSchema<'static> = ValueSchema {
        schema: None,
        is_object: false,
        is_lenient: true,
    };

    /// A whole API object.
    pub(crate) fn object(schema: Option<&'a Schema>) -> Self {
        Self {
            is_object: true,
            is_lenient: schema.is_none(),
            schema,
        }
    }

    fn of_schema(schema: &'a Schema, is_lenient: bool) -> Self {
        Self {
            schema: Some(schema),
            is_object: false,
            is_lenient: is_lenient || schema.preserve_unknown,
        }
    }

    /// The type of a field that all objects have.
    fn meta(self, name: &str) -> Option<ValueSchema<'a>> {
        let is_meta = self.is_object && matches!(name, "apiVersion" | "kind" | "metadata");
        let schema = is_meta.then(|| OBJECT.field(name)).flatten()?;
        Some(ValueSchema::of_schema(schema, false))
    }

    /// The type of the field `name`, or `None` if there is no such field.
    pub(crate) fn field(self, name: &str) -> Option<ValueSchema<'a>> {
        let field_type = || Some(ValueSchema::of_schema(self.schema?.field(name)?, self.is_lenient));
        let is_free = self.is_lenient
            || self.schema.is_none_or(|schema| {
                let says_nothing = schema.properties.is_empty() && !self.is_object;
                says_nothing || schema.preserve_unknown || matches!(schema.extra, Extra::Any)
            });
        let field_type = self.meta(name).or_else(field_type);
        field_type.or(is_free.then_some(ValueSchema::ANY))
    }

    pub(crate) fn item(self) -> ValueSchema<'a> {
        let items = self.schema.and_then(|schema| schema.items.as_deref());
        items.map_or(ValueSchema::ANY, |items| {
            ValueSchema::of_schema(items, self.is_lenient)
        })
    }

    /// The type of the part that a step selects.
    fn below(self, step: &str) -> ValueSchema<'a> {
        match step.strip_prefix("f:") {
            Some(name) => self.field(name).unwrap_or(ValueSchema::ANY),
            None => self.item(),
        }
    }

    /// True if the schema names the field, instead of describing all fields alike.
    fn names(self, step: &str) -> bool {
        step.strip_prefix("f:").is_some_and(|name| {
            let properties = self.schema.map(|schema| &schema.properties);
            properties.is_some_and(|properties| properties.contains_key(name)) || self.meta(name).is_some()
        })
    }

    pub(crate) fn list_type(self) -> ListType {
        self.schema.map_or(ListType::Atomic, |schema| schema.list_type)
    }

    /// The key fields of a list's items, none for sets.
    pub(crate) fn keys(self) -> &'a [String] {
        self.schema.map_or(&[], |schema| &schema.list_map_keys)
    }

    pub(crate) fn kind(self) -> Option<JsonType> {
        match self.schema.map(|schema| schema.types.as_slice()) {
            Some([kind]) => Some(*kind),
            _ => None,
        }
    }

    /// True if a value is owned as a whole.
    fn is_atomic(self, value: &Value) -> bool {
        match value {
            Value::Object(_) => self.schema.is_some_and(|schema| schema.atomic_map),
            Value::Array(_) => self.list_type() == ListType::Atomic,
            _ => true,
        }
    }

    /// The identity of a list item, as a step of FieldsV1.
    pub(crate) fn step(self, item: &Value) -> Result<String, ItemError> {
        let keyed = self.schema.filter(|schema| schema.list_type == ListType::Map);
        Err(match (keyed, item) {
            (Some(schema), Value::Object(_)) => match list_key(item, schema) {
                key if key.is_empty() => ItemError::NoKeys {
                    keys: self.keys().iter().map(|key| quoted(key)).collect(),
                },
                key => return Ok(format!("k:{}", Value::Object(key))),
            },
            (Some(_), Value::Null) => ItemError::KeyedNull,
            (Some(_), _) => ItemError::KeyedScalar,
            (None, Value::Object(_)) => ItemError::SetOfMaps,
            (None, Value::Array(_)) => ItemError::SetOfLists,
            (None, Value::Null) => ItemError::SetOfNulls,
            (None, scalar) => return Ok(format!("v:{scalar}")),
        })
    }

    /// The fields or items of a value with their steps, in order. None for atomic values.
    fn parts(self, value: &Value) -> Vec<(String, &Value)> {
        match value {
            _ if self.is_atomic(value) => Vec::new(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(name, field)| (format!("f:{name}"), field)).collect()
            }
            _ => {
                let items = value.as_array().into_iter().flatten();
                let part = |item| Some((self.step(item).ok()?, item));
                items.filter_map(part).collect()
            }
        }
    }
}

/// Builds a value from parts, null if there are none.
fn whole(parts: Vec<(String, Value)>) -> Value {
    let is_map = parts.first().map(|(step, _)| step.starts_with("f:"));
    let parts = parts.into_iter();
    match is_map {
        None => Value::Null,
        Some(true) => parts.map(|(step, part)| (step[2..].to_owned(), part)).collect(),
        Some(false) => parts.map(|(_, part)| part).collect(),
    }
}

/// True if one value must replace the other as a whole. Null counts as an empty value of the other's kind.
fn is_other_kind(a: &Value, b: &Value) -> bool {
    !a.is_null() && !b.is_null() && std::mem::discriminant(a) != std::mem::discriminant(b)
}

/// The fields of a value.
pub(crate) fn fields_of(value: &Value, of: ValueSchema<'_>) -> FieldSet {
    let mut set = FieldSet {
        member: of.is_atomic(value),
        ..FieldSet::default()
    };
    for (step, part) in of.parts(value) {
        let mut below = fields_of(part, of.below(&step));
        let is_nothing = part.is_null() || part.as_object().is_some_and(Map::is_empty);
        below.member |= is_nothing || !of.names(&step);
        set.add(&step, below);
    }
    set
}

/// The set, with the named fields above its members added.
pub(crate) fn with_named(fields: &FieldSet, of: ValueSchema<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    for (step, below) in &fields.children {
        let mut with = with_named(below, of.below(step));
        with.member = below.member || of.names(step);
        set.add(step, with);
    }
    set
}

/// The difference between two objects.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Added or changed.
    pub(crate) taken: FieldSet,
    pub(crate) removed: FieldSet,
}

/// Compares whole objects, except fields without owners and `ignored` ones.
pub(crate) fn compare_objects(old: &Value, new: &Value, of: ValueSchema<'_>, ignored: &[&str]) -> Comparison {
    let mut comparison = compare(Some(old), Some(new), of);
    for set in [&mut comparison.taken, &mut comparison.removed] {
        set.strip();
        set.exclude(ignored);
    }
    // A field whose value changed its kind counts as changed, not removed.
    comparison.removed.subtract(&comparison.taken);
    comparison
}

fn compare(old: Option<&Value>, new: Option<&Value>, of: ValueSchema<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    if old == new {
        return comparison;
    }
    if old.zip(new).is_some_and(|(old, new)| is_other_kind(old, new)) {
        // The old value is removed with all parts, the new one added.
        comparison.taken = compare(None, new, of).taken;
        comparison.removed = compare(old, None, of).removed;
        return comparison;
    }
    let mut parts: BTreeMap<String, [Option<&Value>; 2]> = BTreeMap::new();
    for (side, value) in [old, new].into_iter().enumerate() {
        for (step, part) in value.into_iter().flat_map(|value| of.parts(value)) {
            parts.entry(step).or_default()[side] = Some(part);
        }
    }
    if parts.is_empty() || old.is_none() || new.is_none() {
        comparison.taken.member = new.is_some();
        comparison.removed.member = new.is_none();
    }
    for (step, [old, new]) in parts {
        let below = compare(old, new, of.below(&step));
        comparison.taken.add(&step, below.taken);
        comparison.removed.add(&step, below.removed);
    }
    comparison
}

/// Merges `applied` into `live`. Nothing is removed, and `applied` wins. Items keep the order of the applied list;
/// others stay near their neighbours.
pub(crate) fn merge(live: &Value, applied: &Value, of: ValueSchema<'_>) -> Value {
    let (old, new) = (of.parts(live), of.parts(applied));
    if is_other_kind(live, applied) || old.is_empty() && new.is_empty() {
        return applied.clone();
    }
    let old_parts: BTreeMap<_, _> = old.iter().rev().cloned().collect();
    let new_steps: BTreeSet<_> = new.iter().map(|(step, _)| step).collect();
    let both = |(step, part): &(String, &Value)| {
        let live = old_parts.get(step).copied().unwrap_or(&Value::Null);
        (step.clone(), merge(live, part, of.below(step)))
    };
    let mut merged = Vec::with_capacity(old.len().max(new.len()));
    let mut rest = new.as_slice();
    for (step, part) in &old {
        if !new_steps.contains(step) {
            // It is not applied: it stays in its place.
            merged.push((step.clone(), (*part).clone()));
            continue;
        }
        let next = rest.iter().position(|(step, _)| old_parts.contains_key(step));
        if let Some(next) = next.filter(|next| rest[*next].0 == *step) {
            let (here, later) = rest.split_at(next + 1);
            merged.extend(here.iter().map(both));
            rest = later;
        }
    }
    merged.extend(rest.iter().map(both));
    whole(merged)
}

/// Removes fields and items from a value.
pub(crate) fn remove(value: &Value, fields: &FieldSet, of: ValueSchema<'_>) -> Value {
    if !value.is_object() && !value.is_array() {
        return value.clone();
    }
    let rest = of.parts(value).into_iter().filter_map(|(step, part)| {
        let rest = match fields.children.get(&step) {
            Some(below) if below.member => return None,
            Some(below) => remove(part, below, of.below(&step)),
            None => part.clone(),
        };
        Some((step, rest))
    });
    whole(rest.collect())
}

/// Checks a value to be applied. Each error begins with its path, in kube-apiserver's words. Values are shown as JSON.
pub(crate) fn errors(value: &Value, of: ValueSchema<'_>) -> Vec<String> {
    let mut errors = Vec::new();
    check(value, of, "", &mut errors);
    errors
}

fn check(value: &Value, of: ValueSchema<'_>, path: &str, errors: &mut Vec<String>) {
    let at = |why: String| match path {
        "" => why,
        path => format!("{path}: {why}"),
    };
    match (of.kind(), value) {
        (_, Value::Null) => {}
        (None | Some(JsonType::Object), Value::Object(fields)) => {
            for (name, field) in fields {
                let below = format!("{path}.{name}");
                match of.field(name) {
                    Some(field_type) => check(field, field_type, &below, errors),
                    None => return errors.push(format!("{below}: field not declared in schema")),
                }
            }
        }
        (None | Some(JsonType::Array), Value::Array(items)) => {
            let mut steps = BTreeSet::new();
            for (i, item) in items.iter().enumerate() {
                let step = match of.list_type() {
                    ListType::Atomic => Ok(format!("i:{i}")),
                    ListType::Set | ListType::Map => of.step(item),
                };
                let step = match step {
                    Ok(step) => step,
                    Err(why) => return errors.push(at(format!("element {i}: {why}"))),
                };
                let key = display_step(&step);
                if !steps.insert(step) {
                    errors.push(at(format!("duplicate entries for key {key}")));
                }
                check(item, of.item(), &format!("{path}{key}"), errors);
            }
        }
        (Some(kind), _) => errors.extend(mismatch(value, kind).map(at)),
        (None, _) => {}
    }
}

/// The error of a value of the wrong type.
fn mismatch(value: &Value, kind: JsonType) -> Option<String> {
    let expected = match kind {
        JsonType::Object => "map",
        JsonType::Array => "list",
        JsonType::Boolean if !value.is_boolean() => "boolean",
        JsonType::String if !value.is_string() => "string",
        JsonType::Integer | JsonType::Number if !value.is_number() => "numeric (int or float)",
        _ => return None,
    };
    Some(format!("expected {expected}, got {value}"))
}
