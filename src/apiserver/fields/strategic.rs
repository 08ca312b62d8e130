//! Strategic merge patches: merge patches that merge some lists item by item, and obey directives.

use serde_json::{Map, Value};

use super::{
    merge::Type,
    merge_errors::{go_text, go_type},
};
use crate::{
    object::status::{Failure, Outcome},
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
    of: Type<'_>,
) -> Outcome<Map<String, Value>> {
    match patch.get(DIRECTIVE).map(|directive| directive.as_str()) {
        None => {}
        Some(Some("replace")) => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Some("delete")) => return Ok(Map::new()),
        Some(_) => return Err(unknown_directive(patch)),
    }
    if let Some(keys) = patch.remove(RETAIN) {
        retain(&mut original, &patch, &keys)?;
    }
    let (orders, mut patch): (Map<_, _>, Map<_, _>) =
        patch.into_iter().partition(|(name, _)| name.starts_with(ORDER));
    for (directive, order) in orders {
        let name = listed(&directive, ORDER).ok_or_else(|| invalid("setElementOrder list"))?;
        let (order, known) = (list(order)?, of.field(name).unwrap_or(Type::ANY));
        let ours = original.get(name).cloned().map(list).transpose()?;
        let theirs = patch.remove(name).map(list).transpose()?;
        check_order(theirs.as_deref().unwrap_or_default(), &order, known)?;
        let before = ours.clone().unwrap_or_default();
        let merged = match (ours, theirs) {
            (None, None) => continue,
            (Some(ours), None) => ours,
            (None, Some(theirs)) => theirs.into_iter().filter_map(without_directives).collect(),
            (Some(ours), Some(theirs)) => merge_lists(ours, theirs, known)?,
        };
        let merged = in_order(merged, &order, &before, known);
        original.insert(name.to_owned(), merged.into());
    }
    for (key, value) in patch {
        let deleted = listed(&key, DELETE);
        if deleted.is_none() && key.starts_with(DELETE) {
            return Err(invalid("primitive list"));
        }
        let name = deleted.unwrap_or(&key);
        let known = of.field(name).unwrap_or(Type::ANY);
        let new = match (original.remove(name), value) {
            (_, Value::Null) => None,
            (Some(Value::Object(ours)), Value::Object(theirs)) => Some(merge(ours, theirs, known)?.into()),
            (Some(Value::Array(mut ours)), Value::Array(theirs)) if deleted.is_some() => {
                ours.retain(|item| !theirs.contains(item));
                Some(ours.into())
            }
            (Some(Value::Array(ours)), Value::Array(theirs)) => {
                Some(merge_lists(ours, theirs, known)?.into())
            }
            (ours, _) if deleted.is_some() => ours,
            (_, theirs) => without_directives(without_nulls(theirs)),
        };
        original.extend(new.map(|new| (name.to_owned(), new)));
    }
    Ok(original)
}

/// The key of a list item.
fn identity<'a>(item: &'a Value, of: Type<'_>) -> Outcome<&'a Value> {
    let Some(key) = of.keys().first() else {
        return Ok(item);
    };
    item.get(key).ok_or_else(|| {
        let item = go_text(item, false);
        Failure::internal(format!("map: {item} does not contain declared merge key: {key}"))
    })
}

/// True if two items have the same key.
fn is_identity(wanted: &Value, item: &Value, of: Type<'_>) -> bool {
    identity(item, of).is_ok_and(|known| known == wanted)
}

fn place(item: &Value, list: &[Value], of: Type<'_>) -> Option<usize> {
    let wanted = identity(item, of).ok()?;
    list.iter().position(|known| is_identity(wanted, known, of))
}

/// Merges lists item by item, or replaces atomic ones.
fn merge_lists(mut ours: Vec<Value>, theirs: Vec<Value>, of: Type<'_>) -> Outcome<Vec<Value>> {
    if of.list_type() == ListType::Atomic {
        return Ok(theirs);
    }
    let mut kinds = ours.iter().chain(&theirs).map(std::mem::discriminant);
    let first = kinds.next();
    if kinds.any(|kind| Some(kind) != first) {
        let [ours, theirs] = [ours, theirs].map(|list| go_text(&list.into(), false));
        return Err(Failure::internal(format!(
            "list element types are not identical: [{ours} {theirs}]"
        )));
    }
    let (mut plain, mut is_replaced) = (Vec::new(), false);
    for item in theirs {
        match item.get(DIRECTIVE).map(|directive| directive.as_str()) {
            None => plain.push(item),
            Some(Some("replace")) => is_replaced = true,
            Some(Some("delete")) => {
                let gone = identity(&item, of)?;
                ours.retain(|known| !is_identity(gone, known, of));
            }
            Some(Some("merge")) => {
                return Err(Failure::internal(
                    "merging lists cannot yet be specified in the patch",
                ));
            }
            Some(_) => return Err(unknown_directive(item)),
        }
    }
    if is_replaced {
        return Ok(plain);
    }
    let mut merged = ours.clone();
    for item in &plain {
        identity(item, of)?;
        match (place(item, &merged, of), item) {
            (Some(at), Value::Object(theirs)) => {
                let ours = merged[at].as_object().cloned().unwrap_or_default();
                merged[at] = merge(ours, theirs.clone(), of.item())?.into();
            }
            (Some(_), _) => {}
            (None, item) => merged.push(item.clone()),
        }
    }
    Ok(in_order(merged, &plain, &ours, of))
}

/// Items of the patch in its order; others stay near their neighbours.
fn in_order(merged: Vec<Value>, patched: &[Value], before: &[Value], of: Type<'_>) -> Vec<Value> {
    let (mut named, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| place(item, patched, of).is_some());
    named.sort_by_key(|item| place(item, patched, of));
    others.sort_by_key(|item| place(item, before, of));
    let mut others = others.into_iter().peekable();
    let mut ordered = Vec::new();
    for item in named {
        let at = place(&item, before, of);
        let is_before = |other: &Value| {
            at.zip(place(other, before, of))
                .is_some_and(|(at, other)| other < at)
        };
        while let Some(other) = others.next_if(is_before) {
            ordered.push(other);
        }
        ordered.push(item);
    }
    ordered.extend(others);
    ordered
}

/// Orders added and changed items as the patch says.
fn check_order(patched: &[Value], order: &[Value], of: Type<'_>) -> Outcome<()> {
    if patched.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in patched.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let wanted = identity(item, of)?;
        if !rest.any(|known| is_identity(wanted, known, of)) {
            let [patched, order] = [patched, order].map(|list| go_text(&list.into(), false));
            return Err(Failure::internal(format!(
                "The order in patch list:\n{patched}\n doesn't match {ORDER} list:\n{order}\n"
            )));
        }
    }
    Ok(())
}

/// Keeps only the keys to retain. The patch may have no others.
fn retain(original: &mut Map<String, Value>, patch: &Map<String, Value>, keys: &Value) -> Outcome<()> {
    let keys = keys.as_array().ok_or_else(|| invalid("retainKeys"))?;
    let is_kept = |name: &String| keys.iter().any(|key| key == name);
    let is_directive = |name: &String| name.starts_with(DELETE) || name.starts_with(ORDER);
    let mut fields = patch.iter().filter(|(_, value)| !value.is_null());
    if !fields.all(|(name, _)| is_kept(name) || is_directive(name)) {
        return Err(invalid("retainKeys"));
    }
    original.retain(|name, _| is_kept(name));
    Ok(())
}

/// The name of the list in a directive.
fn listed<'a>(key: &'a str, directive: &str) -> Option<&'a str> {
    key.strip_prefix(directive)?.strip_prefix('/')
}

fn list(value: Value) -> Outcome<Vec<Value>> {
    let kind = go_type(&value);
    let why = || Failure::internal(format!("expected a []interface {{}}, but received a {kind}"));
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(why()),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, field)| !field.is_null());
            fields.map(|(name, field)| (name, without_nulls(field))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// Removes directives from new values, which have nothing to delete or retain.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = |(name, field)| Some((name, without_directives(field)?));
            Some(fields.into_iter().filter_map(kept).collect())
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

fn unknown_directive(patch: impl Into<Value>) -> Box<Failure> {
    let patch = patch.into();
    let [directive, patch] = [&patch[DIRECTIVE], &patch].map(|value| go_text(value, false));
    Failure::internal(format!("unknown patch type: {directive} in map: {patch}"))
}

fn invalid(what: &str) -> Box<Failure> {
    Failure::bad_request(format!("invalid patch format of {what}"))
}
