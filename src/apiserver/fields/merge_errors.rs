//! Errors of values to be applied, in kube-apiserver's words. Values are shown as JSON.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{field_set::display_step, merge::Type};
use crate::schema::{ListType, Type as Kind};

/// Checks a value to be applied. Each error begins with its path.
pub(crate) fn errors(value: &Value, of: Type<'_>) -> Vec<String> {
    let mut found = Vec::new();
    check(value, of, "", &mut found);
    found
}

fn check(value: &Value, of: Type<'_>, path: &str, found: &mut Vec<String>) {
    let at = |why: String| match path {
        "" => why,
        path => format!("{path}: {why}"),
    };
    match (of.kind(), value) {
        (_, Value::Null) => {}
        (None | Some(Kind::Object), Value::Object(fields)) => {
            for (name, field) in fields {
                let below = format!("{path}.{name}");
                match of.field(name) {
                    Some(known) => check(field, known, &below, found),
                    None => return found.push(format!("{below}: field not declared in schema")),
                }
            }
        }
        (None | Some(Kind::Array), Value::Array(items)) => {
            let mut seen = BTreeSet::new();
            for (i, item) in items.iter().enumerate() {
                let step = match of.list_type() {
                    ListType::Atomic => Ok(format!("i:{i}")),
                    ListType::Set | ListType::Map => of.step(item),
                };
                let step = match step {
                    Ok(step) => step,
                    Err(why) => return found.push(at(format!("element {i}: {why}"))),
                };
                let key = display_step(&step);
                if !seen.insert(step) {
                    found.push(at(format!("duplicate entries for key {key}")));
                }
                check(item, of.item(), &format!("{path}{key}"), found);
            }
        }
        (Some(kind), _) => found.extend(mismatch(value, kind).map(at)),
        (None, _) => {}
    }
}

/// The error of a value of the wrong type.
fn mismatch(value: &Value, kind: Kind) -> Option<String> {
    let wanted = match kind {
        Kind::Object => "map",
        Kind::Array => "list",
        Kind::Boolean if !value.is_boolean() => "boolean",
        Kind::String if !value.is_string() => "string",
        Kind::Integer | Kind::Number if !value.is_number() => "numeric (int or float)",
        _ => return None,
    };
    Some(format!("expected {wanted}, got {value}"))
}
