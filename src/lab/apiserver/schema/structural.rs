//! A schema, read once from its JSON and then used for every object.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;
use serde_json::Value;

use super::cel::Rule;
use super::formats::Format;
use super::validate::correlated;
use crate::lab::apiserver::field::{FieldError, Path};

/// The JSON types of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lab::apiserver) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "integer" => Type::Integer,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Object => "object",
            Type::Array => "array",
            Type::String => "string",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Boolean => "boolean",
        }
    }
}

/// How the items of a list relate to one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::lab::apiserver) enum ListType {
    /// The list is one value.
    #[default]
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects, told apart by the fields in `list_map_keys`.
    Map,
}

/// What a schema says of fields that it does not name.
#[derive(Debug, Default)]
pub(in crate::lab::apiserver) enum Extra {
    /// Nothing: they are pruned.
    #[default]
    Unknown,
    /// They are allowed, with any value.
    Any,
    /// They have this schema.
    Schema(Box<Schema>),
}

/// One node of a structural schema.
#[derive(Debug, Default)]
pub(in crate::lab::apiserver) struct Schema {
    /// Empty: any type.
    pub(in crate::lab::apiserver) types: Vec<Type>,
    pub(super) nullable: bool,
    pub(super) format: Option<Format>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) max_length: Option<u64>,
    pub(super) min_length: Option<u64>,
    pub(super) pattern: Option<Regex>,
    pub(super) max_items: Option<u64>,
    pub(super) min_items: Option<u64>,
    pub(super) unique_items: bool,
    pub(super) max_properties: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) required: Vec<String>,
    pub(super) allowed: Option<Vec<Value>>,
    pub(in crate::lab::apiserver) properties: BTreeMap<String, Schema>,
    pub(in crate::lab::apiserver) extra: Extra,
    pub(in crate::lab::apiserver) items: Option<Box<Schema>>,
    pub(super) all_of: Vec<Schema>,
    pub(super) one_of: Vec<Schema>,
    pub(super) any_of: Vec<Schema>,
    pub(super) not: Option<Box<Schema>>,
    pub(super) default: Option<Value>,
    pub(in crate::lab::apiserver) preserve_unknown: bool,
    pub(in crate::lab::apiserver) embedded_resource: bool,
    pub(in crate::lab::apiserver) list_type: ListType,
    pub(in crate::lab::apiserver) list_map_keys: Vec<String>,
    pub(in crate::lab::apiserver) atomic_map: bool,
    pub(super) rules: Vec<Rule>,
    /// Rules here or below: the rest need not be walked.
    pub(super) has_rules: bool,
    /// Embedded objects here or below.
    has_embedded: bool,
    /// Lists of type set or map here or below.
    pub(super) has_keyed_lists: bool,
}

/// What is done with a value, given what it replaces, its schema and where it is.
type Visit<'a> = &'a mut dyn FnMut(&Value, Option<&Value>, &Schema, &Path<'_>);

/// Compiled schemas by their JSON text: many worlds in one process serve the same CRDs.
static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);

impl Schema {
    /// The compiled form of `schema`, the `openAPIV3Schema` of a CRD's version.
    pub(in crate::lab::apiserver) fn compile(
        schema: &Value,
        path: &Path<'_>,
    ) -> Result<Arc<Self>, Vec<FieldError>> {
        let text = schema.to_string();
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(&text) {
            return Ok(known.clone());
        }
        let mut errors = Vec::new();
        let new = Arc::new(Self::read(schema, path, &mut errors));
        new.check_correlation(path, None, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        compiled.insert(text, new.clone());
        Ok(new)
    }

    /// A schema of our own, known to be good.
    pub(in crate::lab::apiserver) fn read_constant(json: &Value) -> Self {
        Self::read(json, &Path::ROOT, &mut Vec::new())
    }

    fn read(json: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) -> Self {
        let flag = |key: &str| json[key] == Value::Bool(true);
        let int_or_string = flag("x-kubernetes-int-or-string");
        let types = match json["type"].as_str() {
            _ if int_or_string => vec![Type::Integer, Type::String],
            None | Some("") => Vec::new(),
            Some(name) => match Type::read(name) {
                Some(known) => vec![known],
                None => {
                    let supported = ["array", "boolean", "integer", "number", "object", "string"];
                    errors.push(FieldError::not_supported(
                        path.child("type"),
                        &json["type"],
                        &supported.map(str::to_owned),
                    ));
                    Vec::new()
                }
            },
        };
        let mut schema = Schema {
            types,
            nullable: flag("nullable"),
            format: json["format"].as_str().and_then(Format::read),
            maximum: json["maximum"].as_f64(),
            exclusive_maximum: flag("exclusiveMaximum"),
            minimum: json["minimum"].as_f64(),
            exclusive_minimum: flag("exclusiveMinimum"),
            multiple_of: json["multipleOf"].as_f64(),
            max_length: json["maxLength"].as_u64(),
            min_length: json["minLength"].as_u64(),
            pattern: read_pattern(json, path, errors),
            max_items: json["maxItems"].as_u64(),
            min_items: json["minItems"].as_u64(),
            unique_items: flag("uniqueItems"),
            max_properties: json["maxProperties"].as_u64(),
            min_properties: json["minProperties"].as_u64(),
            required: texts(&json["required"]),
            allowed: json["enum"].as_array().cloned(),
            default: json.get("default").filter(|default| !default.is_null()).cloned(),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            list_type: match json["x-kubernetes-list-type"].as_str() {
                Some("map") => ListType::Map,
                Some("set") => ListType::Set,
                _ => ListType::Atomic,
            },
            list_map_keys: texts(&json["x-kubernetes-list-map-keys"]),
            atomic_map: json["x-kubernetes-map-type"] == "atomic",
            rules: Rule::read_all(json, path, errors),
            ..Schema::default()
        };
        schema.read_children(json, path, errors);
        schema.has_rules = !schema.rules.is_empty()
            || schema.children().any(|child| child.has_rules)
            || schema.all_of.iter().any(|branch| branch.has_rules);
        schema.has_embedded = schema.embedded_resource || schema.children().any(|child| child.has_embedded);
        schema.has_keyed_lists =
            schema.list_type != ListType::Atomic || schema.children().any(|child| child.has_keyed_lists);
        schema
    }

    fn read_children(&mut self, json: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let properties_path = path.child("properties");
        for (name, property) in json["properties"].as_object().into_iter().flatten() {
            let property = Self::read(property, &properties_path.key(name), errors);
            self.properties.insert(name.clone(), property);
        }
        self.extra = match &json["additionalProperties"] {
            Value::Null | Value::Bool(false) => Extra::Unknown,
            Value::Bool(true) => Extra::Any,
            schema => {
                let below = path.child("additionalProperties");
                Extra::Schema(Box::new(Self::read(schema, &below, errors)))
            }
        };
        if let Some(items) = json.get("items") {
            self.items = Some(Box::new(Self::read(items, &path.child("items"), errors)));
        }
        let mut branches = |key: &str| -> Vec<Schema> {
            let below = path.child(key);
            let branches = json[key].as_array().into_iter().flatten().enumerate();
            branches
                .map(|(i, branch)| Self::read(branch, &below.index(i), errors))
                .collect()
        };
        self.all_of = branches("allOf");
        self.one_of = branches("oneOf");
        self.any_of = branches("anyOf");
        if let Some(not) = json.get("not") {
            self.not = Some(Box::new(Self::read(not, &path.child("not"), errors)));
        }
    }

    /// Whether there may be objects within objects.
    pub(in crate::lab::apiserver) fn has_embedded(&self) -> bool {
        self.has_embedded
    }

    /// Rules cannot ask for the old value of what cannot be found again: items of lists without keys.
    fn check_correlation(&self, path: &Path<'_>, within: Option<&str>, errors: &mut Vec<FieldError>) {
        if !self.has_rules {
            return;
        }
        let rules = path.child("x-kubernetes-validations");
        for (i, rule) in self
            .rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.is_transition)
        {
            if let Some(within) = within {
                let field = rules.index(i);
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                );
                errors.push(FieldError::invalid_text(field.child("rule"), &rule.text, &why));
            }
        }
        let properties = path.child("properties");
        for (name, property) in &self.properties {
            property.check_correlation(&properties.key(name), within, errors);
        }
        if let Extra::Schema(extra) = &self.extra {
            extra.check_correlation(&path.child("additionalProperties"), within, errors);
        }
        if let Some(items) = &self.items {
            let own = path.to_string();
            let within = within.or((self.list_type != ListType::Map).then_some(own.as_str()));
            items.check_correlation(&path.child("items"), within, errors);
        }
    }

    /// Whether there is any rule in CEL.
    pub(in crate::lab::apiserver) fn has_rules(&self) -> bool {
        self.has_rules
    }

    fn children(&self) -> impl Iterator<Item = &Schema> {
        let extra = match &self.extra {
            Extra::Schema(schema) => Some(schema.as_ref()),
            Extra::Unknown | Extra::Any => None,
        };
        self.properties.values().chain(extra).chain(self.items.as_deref())
    }

    /// Visits the values directly below `value` of which this schema says something, each with what it replaces.
    pub(in crate::lab::apiserver) fn visit_below(
        &self,
        value: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        visit: Visit<'_>,
    ) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let old = old.and_then(|old| old.get(name));
                    match (self.properties.get(name), &self.extra) {
                        (Some(known), _) => visit(field, old, known, &path.child(name)),
                        (None, Extra::Schema(extra)) => visit(field, old, extra, &path.key(name)),
                        (None, Extra::Any | Extra::Unknown) => {}
                    }
                }
            }
            Value::Array(items) => {
                let Some(below) = &self.items else { return };
                for (i, item) in items.iter().enumerate() {
                    visit(item, correlated(item, old, self), below, &path.index(i));
                }
            }
            _ => {}
        }
    }

    /// The same, for changing them.
    pub(super) fn visit_below_mut(&self, value: &mut Value, visit: fn(&mut Value, &Schema)) {
        match (value, &self.items) {
            (Value::Object(fields), _) => {
                for (name, field) in fields {
                    if let Some(known) = self.field(name) {
                        visit(field, known);
                    }
                }
            }
            (Value::Array(items), Some(below)) => items.iter_mut().for_each(|item| visit(item, below)),
            _ => {}
        }
    }

    /// The schema of the field `name`, by its property or that of all other fields.
    pub(in crate::lab::apiserver) fn field(&self, name: &str) -> Option<&Schema> {
        match (self.properties.get(name), &self.extra) {
            (Some(property), _) => Some(property),
            (None, Extra::Schema(schema)) => Some(schema),
            (None, Extra::Unknown | Extra::Any) => None,
        }
    }

    pub(super) fn is_object_or_array(&self) -> bool {
        matches!(self.types.as_slice(), [Type::Object | Type::Array])
    }
}

fn read_pattern(json: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) -> Option<Regex> {
    let text = json["pattern"].as_str().filter(|text| !text.is_empty())?;
    match Regex::new(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            errors.push(FieldError::invalid_text(path.child("pattern"), text, &detail));
            None
        }
    }
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
