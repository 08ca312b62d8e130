//! A schema, read once from its JSON and then used for every object: to walk through its values, and to prune it and fill
//! in defaults before validation.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, OnceLock},
};

use parking_lot::Mutex;
use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value, from_value};

use crate::{
    object::field::Path,
    schema::{formats::SchemaFormat, rules::ValidationRule},
};

/// The JSON types of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JsonType {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl JsonType {
    /// The narrowest type of a value; null has none.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(number) if number.is_f64() => JsonType::Number,
            Value::Number(_) => JsonType::Integer,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        })
    }

    pub(super) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// How the items of a list are identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListType {
    /// Objects, identified by the fields in `list_map_keys`.
    Map,
    /// Scalars, each at most once.
    Set,
    /// The list is one value.
    #[default]
    #[serde(other)]
    Atomic,
}

/// What a schema says about fields that it does not name.
#[derive(Debug, Default)]
pub(crate) enum Extra {
    /// They are pruned.
    #[default]
    Unknown,
    /// They are allowed, with any value.
    Any,
    /// They have this schema.
    Schema(Box<Schema>),
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(json)? {
            Value::Bool(false) => Extra::Unknown,
            Value::Bool(true) => Extra::Any,
            schema => Extra::Schema(from_value(schema).map_err(Error::custom)?),
        })
    }
}

/// One node of a structural schema.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Schema {
    /// Empty: any type.
    #[serde(rename = "type", deserialize_with = "types")]
    pub(crate) types: Vec<JsonType>,
    pub(super) nullable: bool,
    #[serde(deserialize_with = "format")]
    pub(super) format: Option<SchemaFormat>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    #[serde(deserialize_with = "pattern")]
    pub(super) pattern: Option<Regex>,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Vec<String>,
    #[serde(rename = "enum")]
    pub(super) allowed: Option<Vec<Value>>,
    pub(crate) properties: BTreeMap<String, Schema>,
    #[serde(rename = "additionalProperties")]
    pub(crate) extra: Extra,
    pub(crate) items: Option<Box<Schema>>,
    pub(super) all_of: Vec<Schema>,
    pub(super) one_of: Vec<Schema>,
    pub(super) any_of: Vec<Schema>,
    pub(super) not: Option<Box<Schema>>,
    pub(crate) default: Option<Value>,
    #[serde(rename = "x-kubernetes-int-or-string")]
    int_or_string: bool,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub(crate) preserve_unknown: bool,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(crate) list_type: ListType,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub(crate) list_map_keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type", deserialize_with = "is_atomic")]
    pub(crate) atomic_map: bool,
    #[serde(rename = "x-kubernetes-validations")]
    pub(super) rules: Vec<ValidationRule>,
    /// It or a descendant has rules; other subtrees are skipped.
    #[serde(skip)]
    pub(crate) has_rules: bool,
    /// It or a descendant is a list of type set or map.
    #[serde(skip)]
    pub(super) has_keyed_lists: bool,
    /// Set once the checks of a CRD found no error.
    #[serde(skip)]
    pub(super) valid: OnceLock<()>,
}

/// Compiled schemas by their JSON text: many servers in one process serve the same CRDs.
static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);

impl Schema {
    /// Compiles a schema, for example the `openAPIV3Schema` of a CRD's version. Invalid rules and patterns in it are
    /// reported by the checks of the CRD.
    pub(crate) fn compile(json: &Value) -> serde_json::Result<Arc<Self>> {
        let text = json.to_string();
        let mut compiled = COMPILED.lock();
        if let Some(schema) = compiled.get(&text) {
            return Ok(schema.clone());
        }
        let new = Arc::new(Self::read(json)?);
        compiled.insert(text, new.clone());
        Ok(new)
    }

    /// Reads a built-in schema, which is known to be valid.
    pub(crate) fn read_constant(json: &Value) -> Self {
        Self::read(json).unwrap_or_default()
    }

    fn read(json: &Value) -> serde_json::Result<Self> {
        let mut schema = Self::deserialize(json)?;
        schema.sum_up();
        Ok(schema)
    }

    /// Computes the `has_…` flags.
    fn sum_up(&mut self) {
        if self.int_or_string {
            self.types = vec![JsonType::Integer, JsonType::String];
        }
        self.has_rules = !self.rules.is_empty();
        self.has_keyed_lists = self.list_type != ListType::Atomic;
        let extra = match &mut self.extra {
            Extra::Schema(schema) => Some(schema.as_mut()),
            Extra::Unknown | Extra::Any => None,
        };
        let properties = self
            .properties
            .values_mut()
            .chain(extra)
            .chain(self.items.as_deref_mut());
        let branches = [&mut self.all_of, &mut self.any_of, &mut self.one_of];
        let branches = branches.into_iter().flatten().chain(self.not.as_deref_mut());
        for below in properties.chain(branches) {
            below.sum_up();
            self.has_rules |= below.has_rules;
            self.has_keyed_lists |= below.has_keyed_lists;
        }
    }

    /// Calls `change` for `value` and for each descendant that the schema describes, with its path.
    fn each_mut(
        &self,
        value: &mut Value,
        path: &Path<'_>,
        change: &mut dyn FnMut(&mut Value, &Schema, &Path<'_>),
    ) {
        change(value, self, path);
        match (value, &self.items) {
            (Value::Object(fields), _) => {
                for (name, field) in fields {
                    if let Some(schema) = self.field(name) {
                        schema.each_mut(field, &path.child(name), change);
                    }
                }
            }
            (Value::Array(items), Some(below)) => {
                for (i, item) in items.iter_mut().enumerate() {
                    below.each_mut(item, &path.index(i), change);
                }
            }
            _ => {}
        }
    }

    /// The schema of the field `name`: that of the property, or that of additional properties.
    pub(crate) fn field(&self, name: &str) -> Option<&Schema> {
        match (self.properties.get(name), &self.extra) {
            (Some(property), _) => Some(property),
            (None, Extra::Schema(schema)) => Some(schema),
            (None, Extra::Unknown | Extra::Any) => None,
        }
    }
}

fn types<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<JsonType>, D::Error> {
    let kind = JsonType::deserialize(Value::deserialize(json)?);
    Ok(kind.into_iter().collect())
}

fn format<'de, D: Deserializer<'de>>(json: D) -> Result<Option<SchemaFormat>, D::Error> {
    Ok(SchemaFormat::read(&String::deserialize(json)?))
}

fn pattern<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Regex>, D::Error> {
    Ok(Regex::new(&String::deserialize(json)?).ok())
}

fn is_atomic<'de, D: Deserializer<'de>>(json: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(json)? == "atomic")
}

/// A value within an object, with the value it replaces, its schema and its path.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) value: &'a Value,
    pub(super) old: Option<&'a Value>,
    pub(crate) schema: &'a Schema,
    pub(crate) path: Path<'a>,
    /// The nearest value, this one or one around it, that replaces an old value, and the old one.
    pub(super) replacement: Option<(&'a Value, &'a Value)>,
}

impl<'a> At<'a> {
    fn new(value: &'a Value, old: Option<&'a Value>, schema: &'a Schema, path: Path<'a>) -> Self {
        Self {
            value,
            old,
            schema,
            path,
            replacement: old.map(|old| (value, old)),
        }
    }

    /// A value below this one.
    fn below<'b>(
        &'b self,
        value: &'b Value,
        old: Option<&'b Value>,
        schema: &'b Schema,
        path: Path<'b>,
    ) -> At<'b> {
        let below = At::new(value, old, schema, path);
        At {
            replacement: below.replacement.or(self.replacement),
            ..below
        }
    }

    /// True if the value was there before. An item of a list without keys was, if the whole list is unchanged.
    pub(super) fn is_unchanged(&self) -> bool {
        self.replacement.is_some_and(|(value, old)| value == old)
    }

    /// A whole object.
    pub(crate) fn root(value: &'a Value, old: Option<&'a Value>, schema: &'a Schema) -> Self {
        Self::new(value, old, schema, Path::ROOT)
    }

    /// Visits the children that the schema describes.
    pub(super) fn visit_below(&self, visit: &mut dyn FnMut(&At<'_>)) {
        match (self.value, &self.schema.items) {
            (Value::Object(fields), _) => {
                for (name, value) in fields {
                    let old = self.old.and_then(|old| old.get(name));
                    if let Some(child_schema) = self.schema.properties.get(name) {
                        visit(&self.below(value, old, child_schema, self.path.child(name)));
                    } else if let Extra::Schema(extra) = &self.schema.extra {
                        visit(&self.below(value, old, extra, self.path.key(name)));
                    }
                }
            }
            (Value::Array(items), Some(schema)) => {
                for (i, value) in items.iter().enumerate() {
                    let old = self.replaced_by(value);
                    visit(&self.below(value, old, schema, self.path.index(i)));
                }
            }
            _ => {}
        }
    }

    /// Visits this value and its descendants if their schemas are relevant.
    pub(crate) fn each(&self, is_relevant: fn(&Schema) -> bool, visit: &mut dyn FnMut(&At<'_>)) {
        if is_relevant(self.schema) {
            visit(self);
            self.visit_below(&mut |below| below.each(is_relevant, visit));
        }
    }

    /// The old item that `item` replaces, in lists of type map.
    fn replaced_by(&self, item: &Value) -> Option<&'a Value> {
        if self.schema.list_type != ListType::Map {
            return None;
        }
        let key = list_key(item, self.schema);
        let mut old = self.old?.as_array()?.iter();
        old.find(|candidate| list_key(candidate, self.schema) == key)
    }
}

/// The key fields of a list item, with their defaults. Missing ones are left out.
pub(crate) fn list_key(item: &Value, schema: &Schema) -> Map<String, Value> {
    let keys = schema.list_map_keys.iter();
    let default = |key: &str| schema.items.as_ref()?.properties.get(key)?.default.as_ref();
    keys.filter_map(|key| Some((key.clone(), item.get(key).or_else(|| default(key))?.clone())))
        .collect()
}

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The schema of values without one: objects lose all fields.
static NOTHING: LazyLock<Schema> = LazyLock::new(Schema::default);

/// Removes unknown fields from a whole object and returns their paths. `apiVersion`, `kind` and `metadata` stay.
pub(crate) fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_below(object, schema, &Path::ROOT, &mut unknown);
    unknown.sort();
    unknown
}

/// Known fields are pruned even where unknown ones are preserved.
fn prune_below(value: &mut Value, schema: &Schema, path: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let below = path.child(name);
            let child_schema = match (schema.field(name), &schema.extra) {
                _ if path.is_root() && META_FIELDS.contains(&name.as_str()) => return true,
                (Some(child_schema), _) => child_schema,
                (None, _) if schema.preserve_unknown => return true,
                (None, Extra::Any) => &NOTHING,
                (None, Extra::Unknown | Extra::Schema(_)) => {
                    unknown.push(below.to_string());
                    return false;
                }
            };
            prune_below(value, child_schema, &below, unknown);
            true
        }),
        Value::Array(items) => {
            let child_schema = match &schema.items {
                Some(child_schema) => child_schema,
                None if schema.preserve_unknown => return,
                None => &*NOTHING,
            };
            for (i, item) in items.iter_mut().enumerate() {
                prune_below(item, child_schema, &path.index(i), unknown);
            }
        }
        _ => {}
    }
}

/// Fills in the defaults of fields that are absent, or null though not nullable.
pub(crate) fn apply_defaults(value: &mut Value, schema: &Schema) {
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, _| {
        if let (true, false, Some(default)) = (value.is_null(), schema.nullable, &schema.default) {
            *value = default.clone();
        }
        let Value::Object(fields) = value else { return };
        for (name, property) in &schema.properties {
            if let (Some(default), false) = (&property.default, fields.contains_key(name)) {
                fields.insert(name.clone(), default.clone());
            }
        }
    });
}

/// Removes nulls from fields that are neither nullable nor have a default: clients send them for "absent".
pub(crate) fn drop_nulls(value: &mut Value, schema: &Schema) {
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, _| {
        let Value::Object(fields) = value else { return };
        fields.retain(|name, value| match schema.field(name) {
            Some(field_schema) => !value.is_null() || field_schema.nullable || field_schema.default.is_some(),
            None => true,
        });
    });
}
