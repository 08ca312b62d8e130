//! Objects within objects: `x-kubernetes-embedded-resource`.

use serde_json::Value;

use super::field::{FieldError, Path};
use super::found::Found;
use super::meta;
use super::names;
use super::schema::Schema;
use super::typed;

/// What is wrong with the embedded objects in `value`.
pub(super) fn check_embedded(value: &Value, schema: &Schema) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(value, schema, &Path::ROOT, &mut errors);
    errors
}

/// Makes the metadata of embedded objects fit, as that of the object itself. Adds the paths of what was unknown; the
/// error is a decoder's.
pub(super) fn coerce_embedded(
    value: &mut Value,
    schema: &Schema,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    if let Value::Object(fields) = value
        && schema.embedded_resource
        && fields.contains_key("metadata")
    {
        let dropped = typed::coerce_metadata(fields)?;
        unknown.extend(dropped.iter().map(|name| path.child(name).to_string()));
    }
    let mut result = Ok(());
    schema.visit_below_mut(value, path, &mut |value, schema, path| {
        if schema.has_embedded && result.is_ok() {
            result = coerce_embedded(value, schema, path, unknown);
        }
    });
    result
}

fn check(value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if schema.embedded_resource && value.is_object() {
        check_object(value, path, errors);
    }
    if schema.has_embedded {
        schema.visit_below(value, None, path, &mut |value, _, schema, path| {
            check(value, schema, path, errors);
        });
    }
}

fn check_object(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        let at = path.child(field);
        match &value[field] {
            Value::Null if value.get(field).is_none() => errors.required(at, ""),
            Value::String(text) if text.is_empty() => errors.invalid(at, "", "must not be empty"),
            Value::String(text) if field == "kind" => {
                let wrong = names::dns_1035_label(&text.to_lowercase()).join(",");
                if !wrong.is_empty() {
                    let why = format!("may have mixed case, but should otherwise match: {wrong}");
                    errors.invalid(at, text, &why);
                }
            }
            Value::String(text) if text.split('/').count() > 2 => {
                errors.invalid(at, text, &format!("unexpected GroupVersion string: {text}"));
            }
            Value::String(_) => {}
            other => errors.invalid(at, other, "must be a string"),
        }
    }
    if value.get("metadata").is_some() {
        let mut object = value.clone();
        if let Value::Object(fields) = &mut object {
            let metadata = meta::metadata_mut(fields);
            metadata.entry("name").or_insert_with(|| "fakename".into());
        }
        let namespaced = !meta::text(&object, "namespace").is_empty();
        let prefix = path.child("metadata").to_string();
        errors.extend(meta::validate(&object, namespaced, names::path_segment, &prefix));
    }
}
