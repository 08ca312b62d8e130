//! Making objects fit a schema, before anything else looks at them: unknown fields and nulls that mean nothing are
//! dropped, defaults filled in.

use std::sync::LazyLock;

use serde_json::Value;

use super::structural::{Extra, Schema};
use crate::object::field::Path;

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Of what nothing is known: objects lose all their fields.
static NOTHING: LazyLock<Schema> = LazyLock::new(Schema::default);

/// Drops what the schema does not know from a whole object, and returns the paths of what was dropped.
/// The object's own `apiVersion`, `kind` and `metadata` are not the schema's to judge.
pub(crate) fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_below(object, schema, true, &Path::ROOT, &mut unknown);
    unknown.sort();
    unknown
}

/// Known fields are looked into, also where unknown ones are preserved.
fn prune_below(
    value: &mut Value,
    schema: &Schema,
    has_meta: bool,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let path = path.child(name);
            let known = match (schema.field(name), &schema.extra) {
                _ if has_meta && META_FIELDS.contains(&name.as_str()) => return true,
                (Some(known), _) => known,
                (None, _) if schema.preserve_unknown => return true,
                (None, Extra::Any) => &NOTHING,
                (None, Extra::Unknown | Extra::Schema(_)) => {
                    unknown.push(path.to_string());
                    return false;
                }
            };
            prune_below(value, known, known.embedded_resource, &path, unknown);
            true
        }),
        Value::Array(items) => {
            let known = match &schema.items {
                Some(known) => known,
                None if schema.preserve_unknown => return,
                None => &*NOTHING,
            };
            for (i, item) in items.iter_mut().enumerate() {
                prune_below(item, known, known.embedded_resource, &path.index(i), unknown);
            }
        }
        _ => {}
    }
}

/// Puts the schema's defaults where a field is absent, or is null and may not be.
pub(crate) fn apply_defaults(value: &mut Value, schema: &Schema) {
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, _| {
        if let (true, false, Some(default)) = (value.is_null(), schema.nullable, &schema.default) {
            *value = default.clone();
        }
        let Value::Object(fields) = value else { return };
        for (name, property) in &schema.properties {
            if let (Some(default), false) = (&property.default, fields.contains_key(name)) {
                fields.insert(name.clone(), default.clone());
            }
        }
    });
}

/// Drops nulls from fields that may not be null and have no default: clients send them for "absent".
pub(crate) fn drop_nulls(value: &mut Value, schema: &Schema) {
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, _| {
        let Value::Object(fields) = value else { return };
        fields.retain(|name, value| match schema.field(name) {
            Some(known) => !value.is_null() || known.nullable || known.default.is_some(),
            None => true,
        });
    });
}
