//! The scale subresource: the replica counts of a custom resource, as a Scale of `autoscaling/v1`.
//!
//! A Scale is decoded, patched and checked as an object of its own ([`Named::scaled`]). Reads and writes go to the
//! custom resource.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    named::Named,
    resource::{Scale, Version},
    storage::Stored,
};
use crate::object::{
    field::{Errors, Found},
    meta,
    status::{Failure, Outcome},
};

fn paths(scaled: &Named) -> &Scale {
    let scale = scaled.version().scale.as_deref();
    scale.expect("what is scaled says by what")
}

/// The value at a simple path: `.spec.replicas`.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let value = object.pointer(&path.replace('.', "/"));
    value.filter(|value| !value.is_null())
}

/// The Scale of `stored`. Missing counts read as 0; see `check_told`.
pub(crate) fn of(stored: &Stored, scaled: &Named) -> Arc<Stored> {
    let (object, paths) = (stored.object(), paths(scaled));
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or_default();
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {},
        "spec": {}, "status": {"replicas": number(&paths.status_replicas)},
    });
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            scale["metadata"][field] = value.clone();
        }
    }
    if number(&paths.spec_replicas) != 0 {
        scale["spec"]["replicas"] = number(&paths.spec_replicas).into();
    }
    let selector = at(object, &paths.label_selector).and_then(Value::as_str);
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale["status"]["selector"] = selector.into();
    }
    Arc::new(Stored::new(scale, stored.revision))
}

/// Fails if the object has no replica count.
pub(crate) fn check_told(stored: &Stored, scaled: &Named) -> Outcome<()> {
    let path = &paths(scaled).spec_replicas;
    if at(stored.object(), path).is_some() {
        return Ok(());
    }
    let why = format!("the spec replicas field {path:?} does not exist");
    let failure = Failure::new(500, "InternalError", format!("Internal error occurred: {why}"));
    Err(failure.with(json!({"causes": [{"message": why}]})))
}

/// Sets the replica count of `whole` to that of `scale`.
pub(crate) fn applied(whole: &Value, scale: &Value, scaled: &Named) -> Value {
    let mut object = whole.clone();
    let mut place = &mut object;
    for name in paths(scaled).spec_replicas.split('.').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name];
    }
    *place = scale["spec"]["replicas"].as_i64().unwrap_or_default().into();
    if !meta::text(scale, "resourceVersion").is_empty() {
        object["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
    }
    object
}

/// Adds the errors of an object's replica counts.
pub(crate) fn check(object: &Value, version: &Version, errors: &mut Errors) {
    let paths = version.scale.iter();
    for path in paths.flat_map(|paths| [&paths.spec_replicas, &paths.status_replicas]) {
        let value = at(object, path).and_then(Value::as_i64).unwrap_or_default();
        if value < 0 {
            errors.invalid(path, value, "should be a non-negative integer");
        } else if value > i32::MAX.into() {
            let why = format!("should be less than or equal to {}", i32::MAX);
            errors.invalid(path, value, &why);
        }
    }
}
