//! The fields that definitions and scales have: those of their types.

use k8s_openapi::api::autoscaling::v1::{ScaleSpec, ScaleStatus};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionSpec, CustomResourceDefinitionStatus,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::field::Path;
use super::resource::Family;

/// Makes something a value of its type, and tells what is left of it.
type Decode = fn(&Value) -> serde_json::Result<Value>;

/// Takes from an object of this family whatever its type does not have, and nulls. Returns the paths of the former; the
/// error is a decoder's.
pub(super) fn keep_known(family: Family, object: &mut Value) -> Result<Vec<String>, String> {
    let (spec, status): (Decode, Decode) = match family {
        Family::Definition => (
            decode::<CustomResourceDefinitionSpec>,
            decode::<CustomResourceDefinitionStatus>,
        ),
        Family::Other => (decode::<ScaleSpec>, decode::<ScaleStatus>),
        _ => return Ok(Vec::new()),
    };
    let mut unknown = Vec::new();
    for (part, decode) in [("spec", spec), ("status", status)] {
        if let Some(sent) = object.get_mut(part) {
            let known = decode(sent).map_err(|error| format!("json: {error}"))?;
            keep(sent, &known, &Path::ROOT.child(part), false, &mut unknown);
        }
    }
    Ok(unknown)
}

fn decode<T: Serialize + DeserializeOwned>(sent: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(T::deserialize(sent)?)
}

/// The fields of a map have names of the user's own.
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
            // What may be of either of two types is read without a complaint.
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
