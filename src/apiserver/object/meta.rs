//! Reads and validates object metadata.

use serde_json::{Map, Value};

use super::{
    field::{ErrorCollector, Errors, Problem, quoted},
    json::{self, fields, flag, list, texts},
    names,
};

/// Metadata fields that no write changes.
const FIXED: &str = "name namespace uid creationTimestamp deletionTimestamp deletionGracePeriodSeconds";

/// Finalizers that ask for a way to delete.
const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The maximum size of all annotations, keys and values, in bytes.
const MAX_ANNOTATIONS: i64 = 256 * 1024;

/// The metadata of `object`, added if missing.
pub(crate) fn metadata_mut(object: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let metadata = object.entry("metadata").or_insert(Value::Null);
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().expect("made an object just above")
}

/// A text in metadata, empty when absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    json::text(&object["metadata"], field)
}

/// The finalizers of `object`.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    texts(&object["metadata"], "finalizers")
}

/// The finalizers of `new` that `old` does not have.
pub(crate) fn added_finalizers<'a>(new: &'a Value, old: Option<&Value>) -> Vec<&'a str> {
    let before = old.map(finalizers).unwrap_or_default();
    let mut added = finalizers(new);
    added.retain(|finalizer| !before.contains(finalizer));
    added
}

/// True if `object` is being deleted.
pub(crate) fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Adds the errors of an object's metadata. `prefix` is the path of the metadata.
pub(crate) fn validate(
    object: &Value,
    namespaced: bool,
    name_rule: fn(&str) -> Vec<String>,
    prefix: &str,
    errors: &mut Errors,
) {
    let at = |field: &str| format!("{prefix}.{field}");
    let [name, stem, namespace] = ["name", "generateName", "namespace"].map(|field| text(object, field));
    if !stem.is_empty() {
        errors.judge(at("generateName"), stem, |_| name_rule(&names::completed(stem)));
    }
    match name {
        "" => errors.required(at("name"), "name or generateName is required"),
        name => errors.judge(at("name"), name, name_rule),
    }
    match namespace {
        "" if namespaced => errors.required(at("namespace"), ""),
        "" => {}
        _ if namespaced => errors.judge(at("namespace"), namespace, names::dns_label),
        _ => errors.forbidden(at("namespace"), "not allowed on this type"),
    }
    if let Some(generation) = object["metadata"]["generation"]
        .as_i64()
        .filter(|number| *number < 0)
    {
        let why = "must be greater than or equal to 0";
        errors.invalid(at("generation"), generation, why);
    }
    validate_maps(object, prefix, errors);
    let finalizers = finalizers(object);
    for finalizer in &finalizers {
        errors.judge(at("finalizers"), finalizer, names::label_key);
    }
    if [ORPHAN, FOREGROUND].iter().all(|name| finalizers.contains(name)) {
        let why = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.invalid(at("finalizers"), &finalizers, &why);
    }
}

/// Adds the errors of the labels in `field`, which messages call `at`.
pub(crate) fn validate_labels(object: &Value, field: &str, at: &str, errors: &mut Errors) {
    for (key, value) in fields(object, field) {
        errors.judge(at, key, names::label_key);
        errors.judge(at, value.as_str().unwrap_or_default(), names::label_value);
    }
}

/// Labels, annotations and owners.
fn validate_maps(object: &Value, prefix: &str, errors: &mut Errors) {
    let at = |field: &str| format!("{prefix}.{field}");
    let metadata = &object["metadata"];
    validate_labels(metadata, "labels", &at("labels"), errors);
    let mut size = 0;
    for (key, value) in fields(metadata, "annotations") {
        size += (key.len() + value.as_str().map_or(0, str::len)) as i64;
        errors.judge(at("annotations"), key, |key| {
            names::label_key(&key.to_lowercase())
        });
    }
    if size > MAX_ANNOTATIONS {
        errors.too_long(at("annotations"), MAX_ANNOTATIONS);
    }
    let owners = list(metadata, "ownerReferences");
    validate_controllers(owners, &at("ownerReferences"), errors);
    for owner in owners {
        for field in ["apiVersion", "kind", "name", "uid"] {
            let text = json::text(owner, field);
            let (is_empty, what) = match field {
                "apiVersion" => (!has_version(text), "version "),
                _ => (text.is_empty(), ""),
            };
            if is_empty {
                let why = format!("{what}must not be empty");
                errors.invalid(at(&format!("ownerReferences.{field}")), text, &why);
            }
        }
    }
}

/// True for a version, with or without a group before it.
fn has_version(api_version: &str) -> bool {
    let version = api_version
        .split_once('/')
        .map_or(api_version, |(_, version)| version);
    !version.is_empty() && !version.contains('/')
}

/// At most one owner is the controller, and Events own nothing: they expire.
fn validate_controllers(owners: &[Value], path: &str, errors: &mut Errors) {
    const FIELDS: &str = "apiVersion kind name uid controller blockOwnerDeletion";
    let describe = |owner: &Value| {
        let present = FIELDS.split(' ').filter(|field| !owner[*field].is_null());
        let present = present.map(|field| format!("\"{field}\":{}", owner[field]));
        format!("{{{}}}", present.collect::<Vec<String>>().join(","))
    };
    for owner in owners {
        if owner["kind"] == "Event" && owner["apiVersion"] == "v1" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            errors.note(Problem::Invalid, path, Some(describe(owner)), why);
        }
    }
    let controllers: Vec<&Value> = owners.iter().filter(|owner| flag(owner, "controller")).collect();
    for pair in controllers.windows(2) {
        let all: Vec<String> = owners.iter().map(describe).collect();
        let name = |owner: &Value| format!("{}/{}", json::text(owner, "kind"), json::text(owner, "name"));
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            name(pair[0]),
            name(pair[1])
        );
        let all = format!("[{}]", all.join(","));
        errors.note(Problem::Invalid, path, Some(all), &why);
    }
}

/// Adds the errors of a change of metadata.
pub(crate) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let added: Vec<String> = added_finalizers(new, Some(old)).into_iter().map(quoted).collect();
    if is_deleted(old) && !added.is_empty() {
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        );
        errors.forbidden("metadata.finalizers", &why);
    }
    for field in FIXED.split(' ') {
        let (new, old) = (&new["metadata"][field], &old["metadata"][field]);
        if new != old {
            errors.invalid(format!("metadata.{field}"), new, "field is immutable");
        }
    }
    validate_maps(new, "metadata", errors);
}
