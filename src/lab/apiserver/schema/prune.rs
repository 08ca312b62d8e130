//! Pruning: fields that a schema does not know are dropped before anything else looks at the object.

use serde_json::Value;

use super::structural::{Extra, Schema};

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what the schema does not know from a whole object, and returns the paths of what was dropped.
/// The object's own `apiVersion`, `kind` and `metadata` are not the schema's to judge.
pub(in crate::lab::apiserver) fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_known(object, schema, "", &mut unknown);
    unknown.sort();
    unknown
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

/// Known fields are looked into, also where unknown ones are preserved.
fn prune_known(value: &mut Value, schema: &Schema, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let has_meta = schema.embedded_resource || path.is_empty();
            for (name, mut value) in std::mem::take(fields) {
                let at = below(path, &name);
                match (schema.field(&name), &schema.extra) {
                    _ if has_meta && META_FIELDS.contains(&name.as_str()) => {}
                    (Some(known), _) => prune_known(&mut value, known, &at, unknown),
                    (None, _) if schema.preserve_unknown => {}
                    (None, Extra::Any) => prune_unknown(&mut value, &at, unknown),
                    (None, Extra::Unknown | Extra::Schema(_)) => {
                        unknown.push(at);
                        continue;
                    }
                }
                fields.insert(name, value);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                let at = format!("{path}[{i}]");
                match &schema.items {
                    Some(known) => prune_known(item, known, &at, unknown),
                    None if schema.preserve_unknown => {}
                    None => prune_unknown(item, &at, unknown),
                }
            }
        }
        _ => {}
    }
}

/// Where nothing is known, objects lose all their fields.
fn prune_unknown(value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            unknown.extend(fields.keys().map(|name| below(path, name)));
            fields.clear();
        }
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                prune_unknown(item, &format!("{path}[{i}]"), unknown);
            }
        }
        _ => {}
    }
}
