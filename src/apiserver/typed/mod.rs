//! Built-in kinds, as the types of `k8s-openapi` describe them. They are decoded, not validated.

use std::sync::LazyLock;

use k8s_openapi::{
    Resource, api::core::v1::Namespace,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::object::{field::Path, json::DecodeError};

/// Decodes an object as a type. Returns its known fields.
pub(crate) type Decode = fn(&Value) -> Result<Value, DecodeError>;

/// Names of an Event's fields in the core group, and in `events.k8s.io`. Both groups serve the same objects.
const EVENT_FIELDS: [[&str; 2]; 7] = [
    ["involvedObject", "regarding"],
    ["message", "note"],
    ["reportingComponent", "reportingController"],
    ["source", "deprecatedSource"],
    ["firstTimestamp", "deprecatedFirstTimestamp"],
    ["lastTimestamp", "deprecatedLastTimestamp"],
    ["count", "deprecatedCount"],
];

/// How fields are merged, which generated schemas do not say: kind (any, if empty), path of the field, and the key of a
/// list's items, `set` for a set, or `atomic` for a map that is owned as a whole.
const MERGES: [(&str, &str, &str); 14] = [
    ("", "metadata/ownerReferences", "uid"),
    ("", "metadata/ownerReferences/*", "atomic"),
    ("", "metadata/finalizers", "set"),
    ("Namespace", "status/conditions", "type"),
    ("Node", "status/conditions", "type"),
    ("Node", "status/addresses", "type"),
    ("ServiceAccount", "secrets", "name"),
    ("ServiceAccount", "secrets/*", "atomic"),
    ("Event", "involvedObject", "atomic"),
    ("Event", "regarding", "atomic"),
    ("Event", "related", "atomic"),
    ("RoleBinding", "roleRef", "atomic"),
    ("ClusterRoleBinding", "roleRef", "atomic"),
    ("CustomResourceDefinition", "status/conditions", "type"),
];

/// Decodes an object as `T`.
pub(crate) fn decode_as<T: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, DecodeError> {
    let decoded = T::deserialize(object).and_then(serde_json::to_value);
    decoded.map_err(|error| format!("json: {error}").into())
}

/// Decodes an object of a built-in kind. Returns the paths of unknown fields.
pub(crate) fn decode(decode: Decode, object: &mut Map<String, Value>) -> Result<Vec<String>, DecodeError> {
    let mut input = Value::Object(std::mem::take(object));
    let decoded = decode(&input)?;
    let mut unknown = Vec::new();
    keep(&mut input, &decoded, &Path::ROOT, false, &mut unknown);
    if let Value::Object(decoded) = decoded {
        *object = decoded;
    }
    object.retain(|name, field| {
        if name != "metadata" {
            drop_empty(field);
        }
        matches!(name.as_str(), "metadata" | "spec" | "status") || !is_empty_collection(field)
    });
    coerce_metadata(object)?;
    unknown.sort();
    Ok(unknown)
}

/// Removes empty lists and maps from a value, as Go does when it writes most fields.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|_, field| {
            drop_empty(field);
            !is_empty_collection(field)
        }),
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

fn is_empty_collection(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

/// Decodes the metadata of an object of any kind, and adds it if missing. Returns the paths of unknown fields.
pub(crate) fn coerce_metadata(object: &mut Map<String, Value>) -> Result<Vec<String>, DecodeError> {
    let input = object.remove("metadata").filter(|metadata| !metadata.is_null());
    let mut input = input.unwrap_or_else(|| Value::Object(Map::new()));
    let mut metadata = decode_as::<ObjectMeta>(&input)?;
    let mut unknown = Vec::new();
    keep(
        &mut input,
        &metadata,
        &Path::ROOT.child("metadata"),
        false,
        &mut unknown,
    );
    if let Value::Object(fields) = &mut metadata {
        // Go writes these whether or not they are empty.
        fields.retain(|name, value| {
            let is_kept = matches!(name.as_str(), "managedFields" | "deletionGracePeriodSeconds");
            is_kept || !is_empty(value)
        });
    }
    object.insert("metadata".to_owned(), metadata);
    unknown.sort();
    Ok(unknown)
}

/// Removes nulls and unknown fields from a CRD. Returns the paths of the unknown fields.
pub(crate) fn prune_definition(definition: &mut Value) -> Result<Vec<String>, DecodeError> {
    let decoded = decode_as::<CustomResourceDefinition>(definition)?;
    let mut unknown = Vec::new();
    keep(definition, &decoded, &Path::ROOT, false, &mut unknown);
    Ok(unknown)
}

/// Removes the fields that `decoded` does not have, and collects their paths. In a map, any name is known.
fn keep(input: &mut Value, decoded: &Value, path: &Path<'_>, is_map: bool, unknown: &mut Vec<String>) {
    match input {
        Value::Object(fields) => fields.retain(|name, value| {
            let path = path.child(name);
            let Some(decoded_field) = decoded.get(name) else {
                unknown.extend((!value.is_null()).then(|| path.to_string()));
                return false;
            };
            let before = unknown.len();
            let is_properties = !is_map && name == "properties";
            keep(value, decoded_field, &path, is_properties, unknown);
            // A value that may have one of two types is accepted as it is.
            if !is_map && matches!(name.as_str(), "items" | "additionalProperties") {
                unknown.truncate(before);
            }
            true
        }),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                keep(item, &decoded[i], &path.index(i), false, unknown);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    is_empty_collection(value) || value.is_null() || *value == 0 || *value == ""
}

/// Converts an Event to the field names of `group`. The core group's form is stored.
pub(crate) fn event_in(group: &str, event: &Value) -> Value {
    let mut event = event.clone();
    let (from, to, api_version) = match group {
        "" => (1, 0, "v1"),
        _ => (0, 1, "events.k8s.io/v1"),
    };
    if let Value::Object(fields) = &mut event {
        for names in EVENT_FIELDS {
            if let Some(value) = fields.remove(names[from]) {
                fields.insert(names[to].to_owned(), value);
            }
        }
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    event
}

/// The schema of a kind, whose `apiVersion`, `kind` and `metadata` all objects have.
pub(crate) static OBJECT: LazyLock<Value> = LazyLock::new(schema::<Namespace>);

/// The schemas of types, as k8s-openapi describes them: see `examples/schemas.rs`.
static TYPES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas.json")).expect("a table of schemas"));

/// The schema of a type, by the end of its name (`.package.version.Kind`). It refers to no other one.
pub(crate) fn type_schema(name: &str) -> Value {
    let entry = TYPES.iter().find(|(whole, _)| whole.ends_with(name));
    let (_, schema) = entry.unwrap_or_else(|| panic!("schemas.json lacks {name}"));
    let mut schema = schema.clone();
    inline(&mut schema);
    schema
}

/// Replaces references by what they refer to. A description next to a reference wins.
fn inline(schema: &mut Value) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or(name);
        let description = schema.get("description").cloned();
        *schema = TYPES[name].clone();
        if let Some(description) = description {
            schema["description"] = description;
        }
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(inline),
        Value::Array(items) => items.iter_mut().for_each(inline),
        _ => {}
    }
}

/// The schema of the kind `T`, with its merges.
pub(crate) fn schema<T: Resource>() -> Value {
    let package = match T::GROUP {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    let mut schema = type_schema(&format!(".{package}.{}.{}", T::VERSION, T::KIND));
    for (_, path, how) in MERGES
        .iter()
        .filter(|(kind, ..)| kind.is_empty() || *kind == T::KIND)
    {
        if let Some(field) = schema_at(&mut schema, path) {
            annotate(field, how);
        }
    }
    schema
}

/// The schema of the field at `path`. `*` means the items of a list.
fn schema_at<'a>(schema: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('/').try_fold(schema, |schema, step| match step {
        "*" => schema.get_mut("items"),
        name => schema.get_mut("properties")?.get_mut(name),
    })
}

fn annotate(schema: &mut Value, how: &str) {
    match how {
        "atomic" => schema["x-kubernetes-map-type"] = "atomic".into(),
        "set" => {
            schema["x-kubernetes-list-type"] = "set".into();
            schema["x-kubernetes-patch-strategy"] = "merge".into();
        }
        key => {
            schema["x-kubernetes-list-type"] = "map".into();
            schema["x-kubernetes-list-map-keys"] = vec![key].into();
            schema["x-kubernetes-patch-strategy"] = "merge".into();
            schema["x-kubernetes-patch-merge-key"] = key.into();
        }
    }
}
