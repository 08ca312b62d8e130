//! Objects within objects: `x-kubernetes-embedded-resource`.

use serde_json::Value;

use super::field::{FieldError, Path};
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

/// Makes the metadata of embedded objects fit, as that of the object itself. Returns the paths of what was unknown;
/// the error is a decoder's.
pub(super) fn coerce_embedded(value: &mut Value, schema: &Schema, path: &str) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource && fields.contains_key("metadata") {
                let dropped = typed::coerce_metadata(fields)?;
                unknown.extend(dropped.iter().map(|name| format!("{path}.{name}")));
            }
            for (name, field) in fields {
                if let Some(below) = schema.field(name) {
                    let path = match path {
                        "" => name.clone(),
                        path => format!("{path}.{name}"),
                    };
                    unknown.extend(coerce_embedded(field, below, &path)?);
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                if let Some(below) = &schema.items {
                    unknown.extend(coerce_embedded(item, below, &format!("{path}[{i}]"))?);
                }
            }
        }
        _ => {}
    }
    Ok(unknown)
}

fn check(value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if schema.embedded_resource && value.is_object() {
        check_object(value, path, errors);
    }
    schema.visit_below(value, None, path, &mut |value, _, schema, path| {
        check(value, schema, path, errors);
    });
}

fn check_object(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        let at = path.child(field);
        match &value[field] {
            Value::Null if value.get(field).is_none() => errors.push(FieldError::required(at, "")),
            Value::String(text) if text.is_empty() => {
                errors.push(FieldError::invalid_text(at, "", "must not be empty"));
            }
            Value::String(text) if field == "kind" => {
                let wrong = names::dns_1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = format!(
                        "may have mixed case, but should otherwise match: {}",
                        wrong.join(",")
                    );
                    errors.push(FieldError::invalid_text(at, text, &why));
                }
            }
            Value::String(text) => {
                if text.split('/').count() > 2 {
                    let why = format!("unexpected GroupVersion string: {text}");
                    errors.push(FieldError::invalid_text(at, text, &why));
                }
            }
            other => errors.push(FieldError::invalid(at, other, "must be a string")),
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
