//! Defaulting, and the removal of nulls that mean nothing.

use serde_json::{Map, Value};

use super::structural::Schema;

/// Puts the schema's defaults where a field is absent, or is null and may not be.
pub(in crate::lab::apiserver) fn apply_defaults(fields: &mut Map<String, Value>, schema: &Schema) {
    for (name, property) in &schema.properties {
        let Some(default) = &property.default else {
            continue;
        };
        if fields
            .get(name)
            .is_none_or(|value| value.is_null() && !property.nullable)
        {
            fields.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in fields.iter_mut() {
        if let Some(schema) = schema.field(name) {
            default_value(value, schema);
        }
    }
}

fn default_value(value: &mut Value, schema: &Schema) {
    if let (true, false, Some(default)) = (value.is_null(), schema.nullable, &schema.default) {
        *value = default.clone();
    }
    match value {
        Value::Object(fields) => apply_defaults(fields, schema),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                default_value(item, schema);
            }
        }
        _ => {}
    }
}

/// Drops nulls from fields that may not be null and have no default: clients send them for "absent".
pub(in crate::lab::apiserver) fn drop_nulls(fields: &mut Map<String, Value>, schema: &Schema) {
    fields.retain(|name, value| match schema.field(name) {
        Some(known) => !value.is_null() || known.nullable || known.default.is_some(),
        None => true,
    });
    for (name, value) in fields.iter_mut() {
        if let Some(known) = schema.field(name) {
            drop_nulls_below(value, known);
        }
    }
}

fn drop_nulls_below(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => drop_nulls(fields, schema),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                drop_nulls_below(item, schema);
            }
        }
        _ => {}
    }
}
