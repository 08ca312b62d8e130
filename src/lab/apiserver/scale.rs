//! The scale subresource: the numbers of a custom resource by which it is scaled, as a Scale of `autoscaling/v1`.
//!
//! A Scale is an object of its own to whoever decodes, patches and checks it ([`Named::scaled`]); what is read and
//! stored is the custom resource.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::context::Named;
use super::field::{FieldError, Path};
use super::meta;
use super::resource::{Family, Resource, Version};
use super::schema::Schema;
use super::status::{Failure, Outcome};
use super::storage::Stored;

static SCALE: LazyLock<Resource> = LazyLock::new(|| {
    let replicas = json!({"type": "integer", "format": "int32"});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"replicas": replicas}},
        "status": {"type": "object", "properties": {"replicas": replicas, "selector": {"type": "string"}}},
    }});
    Resource {
        group: "autoscaling".to_owned(),
        plural: "scales".to_owned(),
        singular: "scale".to_owned(),
        kind: "Scale".to_owned(),
        list_kind: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        family: Family::Other,
        versions: vec![Version {
            schema: Schema::compile(&schema, &Path::ROOT).unwrap_or_default(),
            ..Version::plain("v1")
        }],
    }
});

/// The resource of the scales of objects with this scope.
pub(super) fn resource(namespaced: bool) -> Arc<Resource> {
    Arc::new(Resource {
        namespaced,
        ..SCALE.clone()
    })
}

/// A value of `object` by a path of the plain kind: `.spec.replicas`.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    object
        .pointer(&path.replace('.', "/"))
        .filter(|value| !value.is_null())
}

/// The Scale of `stored`. Whether the object has a number at all is for readers to mind.
pub(super) fn of(stored: &Stored, scaled: &Named) -> Arc<Stored> {
    let object = stored.object();
    let Some(paths) = &scaled.version().scale else {
        return Arc::new(Stored::new(Value::Null, stored.revision));
    };
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or_default();
    let mut metadata = serde_json::Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {}, "status": {"replicas": number(&paths.status_replicas)},
    });
    match number(&paths.spec_replicas) {
        0 => {}
        replicas => scale["spec"]["replicas"] = replicas.into(),
    }
    if let Some(Value::String(selector)) = at(object, &paths.label_selector)
        && !selector.is_empty()
    {
        scale["status"]["selector"] = selector.clone().into();
    }
    Arc::new(Stored::new(scale, stored.revision))
}

/// Refuses to tell the scale of an object that has none.
pub(super) fn check_told(stored: &Stored, scaled: &Named) -> Outcome<()> {
    let path = scaled
        .version()
        .scale
        .as_ref()
        .map(|paths| paths.spec_replicas.as_str());
    match path.filter(|path| at(stored.object(), path).is_none()) {
        None => Ok(()),
        Some(path) => {
            let why = format!("the spec replicas field {path:?} does not exist");
            let mut failure = Failure::new(500, "InternalError", format!("Internal error occurred: {why}"));
            failure.details = Some(json!({"causes": [{"message": why}]}));
            Err(failure)
        }
    }
}

/// `whole` with what `scale` says of its number.
pub(super) fn applied(whole: &Value, scale: &Value, scaled: &Named) -> Value {
    let mut object = whole.clone();
    let Some(paths) = &scaled.version().scale else {
        return object;
    };
    let mut place = &mut object;
    for name in paths.spec_replicas.split('.').skip(1) {
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

/// What is wrong with the numbers of an object that can be scaled, whoever wrote them.
pub(super) fn check(object: &Value, version: &Version) -> Vec<FieldError> {
    let paths = version.scale.iter();
    let paths = paths.flat_map(|paths| [&paths.spec_replicas, &paths.status_replicas]);
    let wrong = |path: &String| {
        let value = at(object, path).and_then(Value::as_i64)?;
        let why = match value {
            ..0 => "should be a non-negative integer".to_owned(),
            0x8000_0000.. => format!("should be less than or equal to {}", i32::MAX),
            _ => return None,
        };
        Some(FieldError::invalid(path, &value.into(), &why))
    };
    paths.filter_map(wrong).collect()
}
