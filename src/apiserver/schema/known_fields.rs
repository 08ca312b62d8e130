//! Prunes CRDs to the fields of their Go type.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::Value;

use crate::object::{field::Path, json::DecodeError};

/// Removes nulls and unknown fields from a CRD. Returns the paths of the unknown fields.
pub(crate) fn keep_known(definition: &mut Value) -> Result<Vec<String>, DecodeError> {
    let known = CustomResourceDefinition::deserialize(&*definition).and_then(serde_json::to_value);
    let known = known.map_err(|error| format!("json: {error}"))?;
    let mut unknown = Vec::new();
    keep(definition, &known, &Path::ROOT, false, &mut unknown);
    Ok(unknown)
}

/// In a map, any name is known.
fn keep(sent: &mut Value, known: &Value, path: &Path<'_>, is_map: bool, unknown: &mut Vec<String>) {
    match sent {
        Value::Object(fields) => fields.retain(|name, value| {
            let path = path.child(name);
            let Some(known) = known.get(name) else {
                unknown.extend((!value.is_null()).then(|| path.to_string()));
                return false;
            };
            let before = unknown.len();
            let is_properties = !is_map && name == "properties";
            keep(value, known, &path, is_properties, unknown);
            // A value that may have one of two types is accepted as it is.
            if !is_map && matches!(name.as_str(), "items" | "additionalProperties") {
                unknown.truncate(before);
            }
            true
        }),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                keep(item, &known[i], &path.index(i), false, unknown);
            }
        }
        _ => {}
    }
}
