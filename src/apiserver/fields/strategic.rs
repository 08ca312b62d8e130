//! Strategic merge patches: merge patches that merge some lists item by item, and obey directives. Merged lists keep their
//! order; new items come last.

use serde_json::{Map, Value};

use super::merge::ValueSchema;
use crate::{
    object::status::{HandlerResult, StatusFailure},
    schema::ListType,
};

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE: &str = "$deleteFromPrimitiveList";
const ORDER: &str = "$setElementOrder";

/// Applies a patch to `original`. Lists of items with a key are merged.
pub(crate) fn merge(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    of: ValueSchema<'_>,
) -> HandlerResult<Map<String, Value>> {
    match patch.get(DIRECTIVE).map(|directive| directive.as_str()) {
        None => {}
        Some(Some("replace")) => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Some("delete")) => return Ok(Map::new()),
        Some(_) => return Err(unknown_directive(patch)),
    }
    for (key, value) in patch {
        if key == RETAIN {
            return Err(StatusFailure::new(
                501,
                "NotImplemented",
                "this server does not retain keys",
            ));
        }
        if let Some(list) = key.strip_prefix(ORDER) {
            check_order(list, &value)?;
            continue;
        }
        let deleted = key.strip_prefix(DELETE);
        let name = match deleted.map(|list| list.strip_prefix('/')) {
            None => key.as_str(),
            Some(Some(name)) => name,
            Some(None) => return Err(invalid("primitive list")),
        };
        let ours = original.remove(name);
        let new = match deleted {
            Some(_) => without(ours, &value),
            None => patched(ours, value, of.field(name).unwrap_or(ValueSchema::ANY))?,
        };
        original.extend(new.map(|new| (name.to_owned(), new)));
    }
    Ok(original)
}

/// A field after the patch, or `None` if it is removed.
fn patched(ours: Option<Value>, theirs: Value, of: ValueSchema<'_>) -> HandlerResult<Option<Value>> {
    Ok(match (ours, theirs) {
        (_, Value::Null) => None,
        (Some(Value::Object(ours)), Value::Object(theirs)) => Some(merge(ours, theirs, of)?.into()),
        (Some(Value::Array(ours)), Value::Array(theirs)) => Some(merge_lists(ours, theirs, of)?.into()),
        (_, theirs) => without_directives(theirs),
    })
}

/// Removes the items of a list of scalars.
fn without(list: Option<Value>, items: &Value) -> Option<Value> {
    let mut list = list?;
    if let (Value::Array(list), Value::Array(items)) = (&mut list, items) {
        list.retain(|item| !items.contains(item));
    }
    Some(list)
}

fn check_order(list: &str, order: &Value) -> HandlerResult<()> {
    if !list.starts_with('/') {
        return Err(invalid("setElementOrder list"));
    }
    if !order.is_array() {
        return Err(StatusFailure::internal(format!(
            "expected a list, but received {order}"
        )));
    }
    Ok(())
}

/// The key of a list item.
fn identity<'a>(item: &'a Value, of: ValueSchema<'_>) -> HandlerResult<&'a Value> {
    let Some(key) = of.keys().first() else {
        return Ok(item);
    };
    item.get(key).ok_or_else(|| {
        StatusFailure::internal(format!("map: {item} does not contain declared merge key: {key}"))
    })
}

/// Merges lists item by item, or replaces atomic ones.
fn merge_lists(mut ours: Vec<Value>, theirs: Vec<Value>, of: ValueSchema<'_>) -> HandlerResult<Vec<Value>> {
    if of.list_type() == ListType::Atomic {
        return Ok(theirs);
    }
    if theirs.iter().any(|item| item[DIRECTIVE] == "replace") {
        return Ok(theirs
            .into_iter()
            .filter(|item| item[DIRECTIVE].is_null())
            .collect());
    }
    for item in theirs {
        let key = identity(&item, of)?.clone();
        let place = ours
            .iter()
            .position(|candidate| identity(candidate, of).is_ok_and(|candidate| *candidate == key));
        match (item[DIRECTIVE].as_str(), place) {
            (Some("delete"), _) => {
                ours.retain(|candidate| !identity(candidate, of).is_ok_and(|candidate| *candidate == key))
            }
            (Some(_), _) => return Err(unknown_directive(item)),
            (None, Some(place)) => {
                if let (Value::Object(known), Value::Object(item)) = (&mut ours[place], item) {
                    *known = merge(std::mem::take(known), item, of.item())?;
                }
            }
            (None, None) => ours.push(item),
        }
    }
    Ok(ours)
}

/// Removes directives and nulls from new values, which have nothing to delete.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, field)| !field.is_null());
            let clean = fields.filter_map(|(name, field)| Some((name, without_directives(field)?)));
            Some(Value::Object(clean.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

fn unknown_directive(patch: impl Into<Value>) -> Box<StatusFailure> {
    let patch = patch.into();
    StatusFailure::internal(format!(
        "unknown patch type: {} in map: {patch}",
        patch[DIRECTIVE]
    ))
}

fn invalid(what: &str) -> Box<StatusFailure> {
    StatusFailure::bad_request(format!("invalid patch format of {what}"))
}
