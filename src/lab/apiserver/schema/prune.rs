//! Pruning: fields that a schema does not know are dropped before anything else looks at the object.

use std::sync::LazyLock;

use serde_json::Value;

use super::structural::{Extra, Schema};
use crate::lab::apiserver::field::Path;

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Of what nothing is known: objects lose all their fields.
static NOTHING: LazyLock<Schema> = LazyLock::new(Schema::default);

/// Drops what the schema does not know from a whole object, and returns the paths of what was dropped.
/// The object's own `apiVersion`, `kind` and `metadata` are not the schema's to judge.
pub(in crate::lab::apiserver) fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
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
