//! Embedded objects: `x-kubernetes-embedded-resource`.

use serde_json::{Map, Value};

use crate::{
    object::{
        field::{Errors, Found, Path},
        meta, names,
    },
    schema::{At, Schema},
};

/// Adds the errors of embedded objects in `value`.
pub(crate) fn check_embedded(value: &Value, schema: &Schema, errors: &mut Errors) {
    At::root(value, None, schema).each(|schema| schema.has_embedded, &mut |at| {
        if at.schema.embedded_resource && at.value.is_object() {
            check(at.value, &at.path, errors);
        }
    });
}

/// Decodes the metadata of embedded objects by `coerce_metadata`. Returns the paths of unknown fields.
pub(crate) fn coerce_embedded<E>(
    value: &mut Value,
    schema: &Schema,
    coerce_metadata: impl Fn(&mut Map<String, Value>) -> Result<Vec<String>, E>,
) -> Result<Vec<String>, E> {
    let mut result = Ok(Vec::new());
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, path| {
        if let (Ok(unknown), Value::Object(fields)) = (&mut result, value)
            && schema.embedded_resource
            && fields.contains_key("metadata")
        {
            match coerce_metadata(fields) {
                Ok(dropped) => unknown.extend(dropped.iter().map(|name| path.child(name).to_string())),
                Err(error) => result = Err(error),
            }
        }
    });
    result
}

fn check(value: &Value, path: &Path<'_>, errors: &mut Errors) {
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
        meta::validate(&object, namespaced, names::path_segment, &prefix, errors);
    }
}
