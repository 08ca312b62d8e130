//! Object metadata: reading it leniently, judging it strictly.

use serde_json::{Map, Value};

use super::field::FieldError;
use super::names;

/// The sum of all annotations' keys and values, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The fields of metadata that are texts.
const TEXTS: [&str; 8] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
];

/// Metadata of `object`, empty when there is none.
pub(super) fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

/// Metadata of `object` for changing, made when there is none.
pub(super) fn metadata_mut(object: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let metadata = object
        .entry("metadata")
        .and_modify(|metadata| {
            if !metadata.is_object() {
                *metadata = Value::Object(Map::new());
            }
        })
        .or_insert_with(|| Value::Object(Map::new()));
    match metadata {
        Value::Object(metadata) => metadata,
        _ => unreachable!("made an object just above"),
    }
}

/// A text in metadata, empty when absent.
pub(super) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// The finalizers of `object`.
pub(super) fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Drops from metadata what is not its field, or is empty, as a decoder into a typed object does.
/// The error is the decoder's: a field has the wrong type. The texts are the paths of what was unknown.
pub(super) fn coerce(object: &mut Map<String, Value>) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let metadata = match object.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(other) => return Err(mismatch(&other, "metadata", "v1.ObjectMeta")),
    };
    let mut kept = Map::new();
    for (name, value) in metadata {
        let empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            // An empty list of managers means: forget them. It is kept until they are computed.
            Value::Array(items) => items.is_empty() && name != "managedFields",
            _ => false,
        };
        match coerce_field(&name, &value)? {
            Known::No => unknown.push(format!("metadata.{name}")),
            Known::Yes if empty => {}
            Known::Yes => {
                kept.insert(name, value);
            }
        }
    }
    object.insert("metadata".into(), Value::Object(kept));
    Ok(unknown)
}

enum Known {
    Yes,
    No,
}

fn mismatch(value: &Value, field: &str, wanted: &str) -> String {
    let seen = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {seen} into Go struct field ObjectMeta.{field} of type {wanted}")
}

fn coerce_field(name: &str, value: &Value) -> Result<Known, String> {
    let check = |good: bool, wanted: &str| match good || value.is_null() {
        true => Ok(Known::Yes),
        false => Err(mismatch(value, name, wanted)),
    };
    match name {
        name if TEXTS.contains(&name) => check(value.is_string(), "string"),
        "generation" | "deletionGracePeriodSeconds" => check(value.is_i64(), "int64"),
        "labels" | "annotations" => {
            let texts = |fields: &Map<String, Value>| fields.values().all(Value::is_string);
            match value.as_object() {
                Some(fields) if !texts(fields) => {
                    let wrong = fields.values().find(|value| !value.is_string());
                    Err(mismatch(wrong.unwrap_or(value), name, "string"))
                }
                fields => check(fields.is_some(), "map[string]string"),
            }
        }
        "finalizers" => {
            let texts = |items: &Vec<Value>| items.iter().all(Value::is_string);
            check(value.as_array().is_some_and(texts), "[]string")
        }
        "ownerReferences" => {
            let objects = |items: &Vec<Value>| items.iter().all(Value::is_object);
            check(value.as_array().is_some_and(objects), "[]v1.OwnerReference")
        }
        "managedFields" => {
            let objects = |items: &Vec<Value>| items.iter().all(Value::is_object);
            check(value.as_array().is_some_and(objects), "[]v1.ManagedFieldsEntry")
        }
        _ => Ok(Known::No),
    }
}

/// What is wrong with the metadata of `object`, whether it is new or not. `prefix` is where metadata is.
pub(super) fn validate(
    object: &Value,
    namespaced: bool,
    name_rule: fn(&str) -> Vec<String>,
    prefix: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |field: &str| format!("{prefix}.{field}");
    let name = text(object, "name");
    let stem = text(object, "generateName");
    if !stem.is_empty() {
        // A trailing dash is what the generated part follows.
        let probe = match stem.strip_suffix('-') {
            Some(stem) if !stem.is_empty() => format!("{stem}a"),
            _ => stem.to_owned(),
        };
        let wrong = name_rule(&probe);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("generateName"), stem, why)),
        );
    }
    if name.is_empty() {
        errors.push(FieldError::required(
            at("name"),
            "name or generateName is required",
        ));
    } else {
        let wrong = name_rule(name);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("name"), name, why)),
        );
    }
    let namespace = text(object, "namespace");
    if namespaced && namespace.is_empty() {
        errors.push(FieldError::required(at("namespace"), ""));
    } else if namespaced {
        let wrong = names::dns_label(namespace);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("namespace"), namespace, why)),
        );
    } else if !namespace.is_empty() {
        errors.push(FieldError::forbidden(at("namespace"), "not allowed on this type"));
    }
    errors.extend(validate_maps(object, prefix));
    for finalizer in finalizers(object) {
        let wrong = names::label_key(finalizer);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("finalizers"), finalizer, why)),
        );
    }
    errors
}

/// Labels, annotations and owners.
fn validate_maps(object: &Value, prefix: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |field: &str| format!("{prefix}.{field}");
    let metadata = metadata(object);
    let map = |name: &str| {
        metadata
            .and_then(|metadata| metadata.get(name))
            .and_then(Value::as_object)
    };
    for (key, value) in map("labels").into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let wrong = names::label_key(key);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("labels"), key, why)),
        );
        let wrong = names::label_value(value);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("labels"), value, why)),
        );
    }
    let mut size = 0;
    for (key, value) in map("annotations").into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let wrong = names::label_key(&key.to_lowercase());
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("annotations"), key, why)),
        );
    }
    if size > MAX_ANNOTATIONS {
        errors.push(FieldError::too_long(at("annotations"), MAX_ANNOTATIONS as u64));
    }
    let owners = metadata.and_then(|metadata| metadata.get("ownerReferences"));
    let owners = owners.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    errors.extend(validate_controllers(owners, &at("ownerReferences")));
    for owner in owners {
        for (field, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::invalid_text(
                    format!("{}.{field}", at("ownerReferences")),
                    "",
                    why,
                ));
            }
        }
    }
    errors
}

/// At most one owner controls an object, and what is soon forgotten owns nothing.
fn validate_controllers(owners: &[Value], path: &str) -> Vec<FieldError> {
    let text = |owner: &Value, field: &str| owner[field].as_str().unwrap_or_default().to_owned();
    let told = |owner: &Value| {
        let fields = [
            "apiVersion",
            "kind",
            "name",
            "uid",
            "controller",
            "blockOwnerDeletion",
        ];
        let said = fields.iter().filter(|field| !owner[**field].is_null());
        let said: Vec<String> = said
            .map(|field| format!("\"{field}\":{}", owner[*field]))
            .collect();
        format!("{{{}}}", said.join(","))
    };
    let mut errors = Vec::new();
    for owner in owners.iter().filter(|owner| owner["kind"] == "Event") {
        let version = text(owner, "apiVersion");
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        if matches!((group, version), ("", "v1")) {
            let why = format!("{group}/{version}, Kind=Event is disallowed from being an owner");
            errors.push(FieldError::invalid_raw(path, &told(owner), &why));
        }
    }
    let controllers: Vec<&Value> = owners
        .iter()
        .filter(|owner| owner["controller"] == true)
        .collect();
    for pair in controllers.windows(2) {
        let all: Vec<String> = owners.iter().map(told).collect();
        let name = |owner: &Value| format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            name(pair[0]),
            name(pair[1])
        );
        errors.push(FieldError::invalid_raw(
            path,
            &format!("[{}]", all.join(",")),
            &why,
        ));
    }
    errors
}

/// What a change of metadata may not do.
pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !old["metadata"]["deletionTimestamp"].is_null() {
        let before = finalizers(old);
        let mut added = finalizers(new);
        added.retain(|finalizer| !before.contains(finalizer));
        if !added.is_empty() {
            let added: Vec<String> = added
                .iter()
                .map(|finalizer| super::field::quoted(finalizer))
                .collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers \
                 []string{{{}}}",
                added.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", &why));
        }
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (new, old) = (&new["metadata"][field], &old["metadata"][field]);
        if new != old {
            let path = format!("metadata.{field}");
            errors.push(FieldError::invalid(path, new, "field is immutable"));
        }
    }
    errors.extend(validate_maps(new, "metadata"));
    errors
}
