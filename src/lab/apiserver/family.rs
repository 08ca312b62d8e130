//! The rules that single resources have of their own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::definition;
use super::embedded::check_embedded;
use super::field::FieldError;
use super::meta;
use super::names;
use super::rbac;
use super::resource::{Family, Resource, Version};
use super::scale;
use super::schema::{check_lists, check_rules, validate};
use super::status::Qualified;
use super::typed;

/// Bytes of all values of a Secret or ConfigMap together.
const MAX_DATA: usize = 1024 * 1024;

/// The names that objects of this family may have.
pub(super) fn name_rule(family: Family) -> fn(&str) -> Vec<String> {
    match family {
        Family::Namespace => names::dns_label,
        Family::Event | Family::Access => names::path_segment,
        _ => names::dns_subdomain,
    }
}

/// An object of this family before it is created: typed objects have some parts from the start.
pub(super) fn blank(resource: &Resource) -> Value {
    match (resource.family, resource.message()) {
        (Family::Definition, _) => json!({"spec": {"names": {}}, "status": {"acceptedNames": {}}}),
        (_, Some(message)) => typed::zero(message),
        (_, None) => Value::Null,
    }
}

/// What decoding fills in.
pub(super) fn set_defaults(family: Family, object: &mut Map<String, Value>) {
    match family {
        Family::Namespace => {
            let name = object["metadata"]["name"].clone();
            if name.is_string() {
                let labels = meta::metadata_mut(object)
                    .entry("labels")
                    .or_insert_with(|| json!({}));
                labels["kubernetes.io/metadata.name"] = name;
            }
        }
        Family::Secret => {
            if let Some(Value::Object(texts)) = object.remove("stringData") {
                let data = object.entry("data").or_insert_with(|| json!({}));
                for (key, text) in texts {
                    data[key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
                }
            }
            object.entry("type").or_insert_with(|| "Opaque".into());
        }
        Family::Definition => definition::set_defaults(object),
        Family::Node => {
            let status = &mut object["status"];
            if status["allocatable"].is_null() && !status["capacity"].is_null() {
                status["allocatable"] = status["capacity"].clone();
            }
        }
        Family::Access => rbac::set_defaults(object),
        _ => {}
    }
}

/// Texts of warnings about what `old` did not have: formats that nothing is known of, and finalizers that might clash
/// with those of others.
pub(super) fn warnings(family: Family, new: &Value, old: Option<&Value>) -> Vec<String> {
    if family == Family::Definition {
        let before = old.map(definition::unknown_formats).unwrap_or_default();
        let mut now = definition::unknown_formats(new);
        now.retain(|format| !before.contains(format));
        return now
            .iter()
            .map(|format| format!("unrecognized format {format:?}"))
            .collect();
    }
    const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
    let before = old.map(meta::finalizers).unwrap_or_default();
    let mut added = meta::finalizers(new);
    added.retain(|name| !before.contains(name) && !name.contains('/') && !STANDARD.contains(name));
    if family != Family::Custom {
        return Vec::new();
    }
    let warning = |name: &&str| {
        let path = if name.contains('.') {
            "including a path (/) "
        } else {
            ""
        };
        format!(
            "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name {path}to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    added.iter().map(warning).collect()
}

/// What the server sets on a new object, whatever was sent.
pub(super) fn prepare_create(resource: &Resource, version: &Version, object: &mut Value) {
    match resource.family {
        Family::Namespace => {
            object["status"] = json!({"phase": "Active"});
            let finalizers = &mut object["spec"]["finalizers"];
            match finalizers.as_array_mut() {
                Some(list) if !list.contains(&json!("kubernetes")) => list.push("kubernetes".into()),
                Some(_) => {}
                None => *finalizers = json!(["kubernetes"]),
            }
        }
        Family::Definition => {
            object["status"] = definition::new_status(object);
            object["metadata"]["generation"] = 1.into();
        }
        Family::Custom => {
            if version.status_subresource
                && let Value::Object(fields) = object
            {
                fields.remove("status");
            }
            object["metadata"]["generation"] = 1.into();
        }
        Family::ServiceAccount => keep_names(object),
        Family::Access => rbac::set_rules(resource, object),
        Family::Lease => drop_strategy(object),
        Family::Node => mark_unready(object),
        _ => {}
    }
}

/// Of the Secrets of a ServiceAccount only the names are kept.
fn keep_names(account: &mut Value) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten() {
        let name = secret["name"].take();
        *secret = json!({"name": name});
    }
}

/// Leases are not coordinated, unless a feature is switched on that is off by default.
fn drop_strategy(lease: &mut Value) {
    if let Some(spec) = lease["spec"].as_object_mut() {
        spec.retain(|name, _| !matches!(name.as_str(), "strategy" | "preferredHolder"));
    }
}

/// A new Node is not ready until somebody says so.
fn mark_unready(node: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    match node["spec"]["taints"].as_array_mut() {
        Some(taints)
            if taints
                .iter()
                .any(|other| other["key"] == taint["key"] && other["effect"] == taint["effect"]) => {}
        Some(taints) => taints.push(taint),
        None => node["spec"]["taints"] = json!([taint]),
    }
}

/// What a write of the object itself cannot change. Counts the generation up when the rest changed.
pub(super) fn prepare_update(resource: &Resource, version: &Version, new: &mut Value, old: &Value) {
    let keep = |new: &mut Value, field: &str| {
        let Value::Object(fields) = new else { return };
        match old.get(field) {
            Some(value) => fields.insert(field.to_owned(), value.clone()),
            None => fields.remove(field),
        };
    };
    match resource.family {
        Family::Namespace => {
            keep(new, "spec");
            keep(new, "status");
        }
        Family::Definition => {
            keep(new, "status");
            definition::note_storage(new);
        }
        Family::ServiceAccount => keep_names(new),
        Family::Access => rbac::set_rules(resource, new),
        Family::Lease => drop_strategy(new),
        _ if version.status_subresource => keep(new, "status"),
        _ => {}
    }
    let counted = match resource.family {
        Family::Custom => !same_but_metadata(new, old),
        Family::Definition => new["spec"] != old["spec"],
        _ => return,
    };
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
    new["metadata"]["generation"] = (generation + i64::from(counted)).into();
}

fn same_but_metadata(a: &Value, b: &Value) -> bool {
    let others = |object: &Value| -> Vec<(String, Value)> {
        let fields = object.as_object().into_iter().flatten();
        let mut fields: Vec<(String, Value)> = fields
            .filter(|(name, _)| *name != "metadata")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        fields
    };
    others(a) == others(b)
}

/// Adds to `errors` (those of the metadata) what else is wrong with an object. `old` is what it replaces, by a
/// write to `subresource`.
pub(super) fn check(
    resource: &Resource,
    version: &Version,
    new: &Value,
    old: Option<&Value>,
    subresource: &str,
    errors: &mut Vec<FieldError>,
) {
    match resource.family {
        Family::Custom => check_custom(version, new, old, subresource, errors),
        Family::Secret | Family::ConfigMap => errors.extend(check_data(resource, new, old)),
        Family::Definition if subresource.is_empty() => errors.extend(definition::check(new, old)),
        Family::Definition => errors.extend(definition::check_status(new)),
        Family::Event | Family::Lease | Family::Node => errors.extend(typed::check(resource, new, old)),
        Family::Access => errors.extend(rbac::check(resource, new, old)),
        Family::Namespace | Family::ServiceAccount | Family::Review | Family::Other => {}
    }
}

/// How refusals name an object: by the kind that it says it is.
pub(super) fn kind_of<'a>(resource: &'a Resource, object: &'a Value) -> Qualified<'a> {
    let group = match resource.family {
        // Whichever group they are sent to, they are judged in the core one.
        Family::Event => "",
        _ => &resource.group,
    };
    Qualified {
        group,
        resource: object["kind"].as_str().unwrap_or(&resource.kind),
    }
}

/// What is wrong with `apiVersion` and `kind`; nothing else is looked at then.
pub(super) fn check_type(resource: &Resource, version: &Version, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let api_version = resource.api_version(&version.name);
    for (field, wanted) in [("kind", &resource.kind), ("apiVersion", &api_version)] {
        let seen = object[field].as_str().unwrap_or_default();
        if seen != wanted {
            errors.push(FieldError::invalid_text(
                field,
                seen,
                &format!("must be {wanted}"),
            ));
        }
    }
    errors
}

fn check_custom(
    version: &Version,
    new: &Value,
    old: Option<&Value>,
    subresource: &str,
    errors: &mut Vec<FieldError>,
) {
    let schema = &version.schema;
    match (subresource, schema.field("status"), new.get("status")) {
        ("status", Some(status), Some(value)) => {
            let old = old.and_then(|old| old.get("status"));
            errors.extend(validate(value, old, status, "status"));
        }
        ("status", _, _) => {}
        _ => errors.extend(validate(new, old, schema, "")),
    }
    if subresource.is_empty() {
        errors.extend(check_embedded(new, schema));
    }
    if old.is_none_or(|old| check_lists(old, schema).is_empty()) {
        errors.extend(check_lists(new, schema));
    }
    errors.extend(scale::check(new, version));
    if !schema.has_rules {
        return;
    }
    if errors.iter().any(|error| error.problem.blocks_rules()) {
        errors.push(FieldError::invalid(
            "",
            &Value::Null,
            "some validation rules were not checked because the object was invalid; correct the existing errors \
             to complete validation",
        ));
    } else {
        errors.extend(check_rules(new, old, schema));
    }
}

/// The keys without which a Secret is not of its type.
fn check_secret_type(secret: &Value) -> Vec<FieldError> {
    let needed: &[&str] = match secret["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        _ => &[],
    };
    let missing = needed.iter().filter(|key| secret["data"].get(**key).is_none());
    missing
        .map(|key| FieldError::required(format!("data[{key}]"), ""))
        .collect()
}

fn check_data(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    let fields: &[&str] = match resource.family {
        Family::Secret => &["data"],
        _ => &["data", "binaryData"],
    };
    for field in fields {
        for (key, value) in new[*field].as_object().into_iter().flatten() {
            let wrong = names::config_key(key);
            let at = format!("{field}[{key}]");
            errors.extend(wrong.iter().map(|why| FieldError::invalid_text(&at, key, why)));
            size += value.as_str().map_or(0, str::len);
        }
    }
    if size > MAX_DATA {
        errors.push(FieldError::too_long(
            if resource.family == Family::Secret {
                "data"
            } else {
                ""
            },
            MAX_DATA as u64,
        ));
    }
    if resource.family == Family::Secret {
        errors.extend(check_secret_type(new));
    }
    let Some(old) = old else { return errors };
    if resource.family == Family::Secret && new["type"] != old["type"] {
        errors.push(FieldError::invalid("type", &new["type"], "field is immutable"));
    }
    if old["immutable"] == Value::Bool(true) {
        let why = "field is immutable when `immutable` is set";
        if new["immutable"] != Value::Bool(true) {
            errors.push(FieldError::forbidden("immutable", why));
        }
        for field in fields.iter().filter(|field| new[**field] != old[**field]) {
            errors.push(FieldError::forbidden(field, why));
        }
    }
    errors
}
