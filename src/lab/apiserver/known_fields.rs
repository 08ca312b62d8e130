//! The fields that a definition has: those of its type.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionSpec, CustomResourceDefinitionStatus,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::field::Path;

/// Takes from a definition whatever its type does not have, and nulls. Returns the paths of the former; the error is a
/// decoder's.
pub(super) fn keep_known(definition: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    for (part, decoded) in [
        ("spec", decoded::<CustomResourceDefinitionSpec> as fn(&Value) -> _),
        ("status", decoded::<CustomResourceDefinitionStatus>),
    ] {
        if let Some(sent) = definition.get_mut(part) {
            let known = decoded(sent).map_err(|error| format!("json: {error}"))?;
            keep(sent, &known, &Path::ROOT.child(part), &mut unknown);
        }
    }
    Ok(unknown)
}

/// What is left of `sent` once it has been a `T`.
fn decoded<T: Serialize + DeserializeOwned>(sent: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(T::deserialize(sent)?)
}

fn keep(sent: &mut Value, known: &Value, path: &Path<'_>, unknown: &mut Vec<String>) {
    match sent {
        Value::Object(fields) => fields.retain(|name, value| {
            let path = path.child(name);
            match known.get(name) {
                Some(known) => keep(value, known, &path, unknown),
                None if value.is_null() => {}
                None => unknown.push(path.to_string()),
            }
            known.get(name).is_some()
        }),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                keep(item, &known[i], &path.index(i), unknown);
            }
        }
        _ => {}
    }
}
