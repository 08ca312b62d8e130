//! Lists whose items have an identity: sets, and maps told apart by keys.

use serde_json::{Map, Value};

use super::at::At;
use super::structural::{ListType, Schema};
use crate::lab::apiserver::field::FieldError;
use crate::lab::apiserver::found::Found;

/// The fields by which `item` is told from its neighbours, with their defaults; absent ones are left out.
pub(in crate::lab::apiserver) fn list_key(item: &Value, schema: &Schema) -> Map<String, Value> {
    let keys = schema.list_map_keys.iter();
    let default = |key: &str| schema.items.as_ref()?.properties.get(key)?.default.as_ref();
    keys.filter_map(|key| Some((key.clone(), item.get(key).or_else(|| default(key))?.clone())))
        .collect()
}

/// Each set has an element once, each map a key once.
pub(in crate::lab::apiserver) fn check_lists(value: &Value, schema: &Schema) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let root = At::root(value, None, schema);
    root.each(|schema| schema.has_keyed_lists, &mut |at| check(at, &mut errors));
    errors
}

/// Only the first repetition of a key is told.
fn check(at: &At<'_>, errors: &mut Vec<FieldError>) {
    let (Value::Array(items), is_map) = (at.value, at.schema.list_type == ListType::Map) else {
        return;
    };
    if at.schema.list_type == ListType::Atomic {
        return;
    }
    let strange = |item: &Value| is_map && !item.is_null() && !item.is_object();
    if let Some(i) = items.iter().position(strange) {
        let why = "must be an object for an array of list-type map";
        return errors.invalid(at.path.index(i), &items[i], why);
    }
    let mut seen: Vec<(Value, u32)> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let identity = match is_map {
            true => Value::Object(list_key(item, at.schema)),
            false => item.clone(),
        };
        match seen.iter_mut().find(|(known, _)| *known == identity) {
            None => seen.push((identity, 1)),
            Some((_, times)) => {
                *times += 1;
                if *times == 2 {
                    errors.push(FieldError::duplicate(at.path.index(i), &identity));
                }
            }
        }
    }
}
