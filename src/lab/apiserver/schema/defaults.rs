//! Defaulting, and the removal of nulls that mean nothing.

use serde_json::Value;

use super::structural::Schema;
use crate::lab::apiserver::field::Path;

/// Puts the schema's defaults where a field is absent, or is null and may not be.
pub(in crate::lab::apiserver) fn apply_defaults(value: &mut Value, schema: &Schema) {
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
pub(in crate::lab::apiserver) fn drop_nulls(value: &mut Value, schema: &Schema) {
    schema.each_mut(value, &Path::ROOT, &mut |value, schema, _| {
        let Value::Object(fields) = value else { return };
        fields.retain(|name, value| match schema.field(name) {
            Some(known) => !value.is_null() || known.nullable || known.default.is_some(),
            None => true,
        });
    });
}
