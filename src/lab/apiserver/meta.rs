//! Object metadata, and what is wrong with it.

use serde_json::{Map, Value};

use super::field::FieldError;
use super::names;

/// The sum of all annotations' keys and values, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

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

/// Whether `object` is being deleted.
pub(super) fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
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
        errors.extend(FieldError::invalid_each(
            at("generateName"),
            stem,
            &name_rule(&probe),
        ));
    }
    if name.is_empty() {
        errors.push(FieldError::required(
            at("name"),
            "name or generateName is required",
        ));
    } else {
        errors.extend(FieldError::invalid_each(at("name"), name, &name_rule(name)));
    }
    let namespace = text(object, "namespace");
    if namespaced && namespace.is_empty() {
        errors.push(FieldError::required(at("namespace"), ""));
    } else if namespaced {
        errors.extend(FieldError::invalid_each(
            at("namespace"),
            namespace,
            &names::dns_label(namespace),
        ));
    } else if !namespace.is_empty() {
        errors.push(FieldError::forbidden(at("namespace"), "not allowed on this type"));
    }
    errors.extend(validate_maps(object, prefix));
    for finalizer in finalizers(object) {
        errors.extend(FieldError::invalid_each(
            at("finalizers"),
            finalizer,
            &names::label_key(finalizer),
        ));
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
        errors.extend(FieldError::invalid_each(
            at("labels"),
            key,
            &names::label_key(key),
        ));
        errors.extend(FieldError::invalid_each(
            at("labels"),
            value,
            &names::label_value(value),
        ));
    }
    let mut size = 0;
    for (key, value) in map("annotations").into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        errors.extend(FieldError::invalid_each(
            at("annotations"),
            key,
            &names::label_key(&key.to_lowercase()),
        ));
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
