//! Fits objects to a schema before validation: prunes unknown fields, drops meaningless nulls, fills in defaults.

use std::sync::LazyLock;

use serde_json::Value;

use super::structural::{Extra, Schema};
use crate::object::field::Path;

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The schema of values without one: objects lose all fields.
static NOTHING: LazyLock<Schema> = LazyLock::new(Schema::default);

/// Removes unknown fields from a whole object and returns their paths. `apiVersion`, `kind` and `metadata` stay.
pub(crate) fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_below(object, schema, &Path::ROOT, &mut unknown);
    unknown.sort();
    unknown
}

/// Known fields are pruned even where unknown ones are preserved.
fn prune_below(value: &mut Value, schema: &Schema, path: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let below = path.child(name);
            let known = match (schema.field(name), &schema.extra) {
                _ if path.is_root() && META_FIELDS.contains(&name.as_str()) => return true,
                (Some(known), _) => known,
                (None, _) if schema.preserve_unknown => return true,
                (None, Extra::Any) => &NOTHING,
                (None, Extra::Unknown | Extra::Schema(_)) => {
                    unknown.push(below.to_string());
                    return false;
                }
            };
            prune_below(value, known, &below, unknown);
            true
        }),
        Value::Array(items) => {
            let known = match &schema.items {
                Some(known) => known,
                None if schema.preserve_unknown => return,
                None => &*NOTHING,
            };
            for (i, item) in items.iter_mut().enumerate() {
                prune_below(item, known, &path.index(i), unknown);
            }
        }
        _ => {}
    }
}

/// Fills in the defaults of fields that are absent, or null though not nullable.
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

/// Removes nulls from fields that are neither nullable nor have a default: clients send them for "absent".
pub(crate) fn drop_nulls(value: &mut Value, schema: &Schema) {
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, _| {
        let Value::Object(fields) = value else { return };
        fields.retain(|name, value| match schema.field(name) {
            Some(known) => !value.is_null() || known.nullable || known.default.is_some(),
            None => true,
        });
    });
}
