//! A schema, read once from its JSON and then used for every object.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use parking_lot::Mutex;
use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, from_value};

use super::{formats::Format, rules::Rule};
use crate::object::field::Path;

/// The JSON types of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    /// The narrowest type of a value; null has none.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => Type::Boolean,
            Value::Number(number) if number.is_f64() => Type::Number,
            Value::Number(_) => Type::Integer,
            Value::String(_) => Type::String,
            Value::Array(_) => Type::Array,
            Value::Object(_) => Type::Object,
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
    pub(crate) types: Vec<Type>,
    pub(super) nullable: bool,
    #[serde(deserialize_with = "format")]
    pub(super) format: Option<Format>,
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
    pub(super) rules: Vec<Rule>,
    /// It or a descendant has rules; other subtrees are skipped.
    #[serde(skip)]
    pub(crate) has_rules: bool,
    /// It or a descendant is a list of type set or map.
    #[serde(skip)]
    pub(super) has_keyed_lists: bool,
}

/// Compiled schemas by their JSON text: many servers in one process serve the same CRDs.
static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);

impl Schema {
    /// Compiles a schema, such as the `openAPIV3Schema` of a CRD's version. Invalid rules and patterns in it are
    /// reported by the checks of the CRD.
    pub(crate) fn compile(json: &Value) -> serde_json::Result<Arc<Self>> {
        let text = json.to_string();
        let mut compiled = COMPILED.lock();
        if let Some(known) = compiled.get(&text) {
            return Ok(known.clone());
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
            self.types = vec![Type::Integer, Type::String];
        }
        self.has_rules = !self.rules.is_empty();
        self.has_keyed_lists = self.list_type != ListType::Atomic;
        let extra = match &mut self.extra {
            Extra::Schema(schema) => Some(schema.as_mut()),
            Extra::Unknown | Extra::Any => None,
        };
        let own = self
            .properties
            .values_mut()
            .chain(extra)
            .chain(self.items.as_deref_mut());
        let branches = [&mut self.all_of, &mut self.any_of, &mut self.one_of];
        let branches = branches.into_iter().flatten().chain(self.not.as_deref_mut());
        for below in own.chain(branches) {
            below.sum_up();
            self.has_rules |= below.has_rules;
            self.has_keyed_lists |= below.has_keyed_lists;
        }
    }

    /// Calls `change` for `value` and for each descendant that the schema describes, with its path.
    pub(crate) fn each_mut(
        &self,
        value: &mut Value,
        path: &Path<'_>,
        change: &mut dyn FnMut(&mut Value, &Schema, &Path<'_>),
    ) {
        change(value, self, path);
        match (value, &self.items) {
            (Value::Object(fields), _) => {
                for (name, field) in fields {
                    if let Some(known) = self.field(name) {
                        known.each_mut(field, &path.child(name), change);
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

fn types<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<Type>, D::Error> {
    let kind = Type::deserialize(Value::deserialize(json)?);
    Ok(kind.into_iter().collect())
}

fn format<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Format>, D::Error> {
    Ok(Format::read(&String::deserialize(json)?))
}

fn pattern<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Regex>, D::Error> {
    Ok(Regex::new(&String::deserialize(json)?).ok())
}

fn is_atomic<'de, D: Deserializer<'de>>(json: D) -> Result<bool, D::Error> {
    Ok(String::deserialize(json)? == "atomic")
}
