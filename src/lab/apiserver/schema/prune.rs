//! Pruning: fields that a schema does not know are dropped before anything else looks at the object.

use serde_json::{Map, Value};

use super::structural::{Extra, Schema};

const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what the schema does not know from a whole object, and returns the paths of what was dropped.
/// The object's own `apiVersion`, `kind` and `metadata` are not the schema's to judge.
pub(in crate::lab::apiserver) fn prune(object: &mut Map<String, Value>, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    if schema.preserve_unknown {
        keep_fields(object, schema, "", &mut unknown);
    } else {
        prune_fields(object, schema, "", &mut unknown);
    }
    unknown.sort();
    unknown
}

fn is_meta(name: &str, schema: &Schema, path: &str) -> bool {
    (schema.embedded_resource || path.is_empty()) && META_FIELDS.contains(&name)
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn prune_value(value: &mut Value, schema: &Schema, path: &str, unknown: &mut Vec<String>) {
    if schema.preserve_unknown {
        return keep_value(value, schema, path, unknown);
    }
    match value {
        Value::Object(fields) => prune_fields(fields, schema, path, unknown),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                let path = format!("{path}[{i}]");
                match &schema.items {
                    Some(schema) => prune_value(item, schema, &path, unknown),
                    None => prune_unknown(item, &path, unknown),
                }
            }
        }
        _ => {}
    }
}

fn prune_fields(fields: &mut Map<String, Value>, schema: &Schema, path: &str, unknown: &mut Vec<String>) {
    let before = std::mem::take(fields);
    for (name, mut value) in before {
        if !is_meta(&name, schema, path) {
            match (schema.properties.get(&name), &schema.extra) {
                (Some(known), _) => prune_value(&mut value, known, &below(path, &name), unknown),
                (None, Extra::Schema(extra)) => prune_value(&mut value, extra, &below(path, &name), unknown),
                (None, Extra::Any) => prune_unknown(&mut value, &below(path, &name), unknown),
                (None, Extra::Unknown) => {
                    unknown.push(below(path, &name));
                    continue;
                }
            }
        }
        fields.insert(name, value);
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

/// Unknown fields are preserved here; known ones are still looked into.
fn keep_value(value: &mut Value, schema: &Schema, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => keep_fields(fields, schema, path, unknown),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (i, item) in items.iter_mut().enumerate() {
                keep_value(item, schema, &format!("{path}[{i}]"), unknown);
            }
        }
        _ => {}
    }
}

fn keep_fields(fields: &mut Map<String, Value>, schema: &Schema, path: &str, unknown: &mut Vec<String>) {
    for (name, value) in fields.iter_mut() {
        if is_meta(name, schema, path) {
            continue;
        }
        if let Some(known) = schema.field(name) {
            prune_value(value, known, &below(path, name), unknown);
        }
    }
}
