//! Errors of values to be applied, in kube-apiserver's words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{field_set::display_step, merge::Type};
use crate::{
    object::field::quoted,
    schema::{ListType, Type as Kind},
};

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
                let told = display_step(&step);
                if !seen.insert(step) {
                    found.push(at(format!("duplicate entries for key {told}")));
                }
                check(item, of.item(), &format!("{path}{told}"), found);
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
    let got = match kind {
        Kind::Integer | Kind::Number => go_type(value).to_owned(),
        Kind::String => format!("&value.valueUnstructured{{Value:{}}}", go_text(value, true)),
        _ => format!("&{{{}}}", go_text(value, false)),
    };
    Some(format!("expected {wanted}, got {got}"))
}

/// The Go type that a decoder without a schema produces.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go prints it, or as Go source.
pub(crate) fn go_text(value: &Value, is_source: bool) -> String {
    let joined = |parts: Vec<String>| {
        if is_source {
            format!("{}{{{}}}", go_type(value), parts.join(", "))
        } else {
            format!("[{}]", parts.join(" "))
        }
    };
    match value {
        Value::Null if is_source => "interface {}(nil)".to_owned(),
        Value::Null => "<nil>".to_owned(),
        Value::String(text) if !is_source => text.clone(),
        Value::Array(items) => joined(items.iter().map(|item| go_text(item, is_source)).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| {
                if is_source {
                    format!("{}:{}", quoted(name), go_text(field, true))
                } else {
                    format!("{name}:{}", go_text(field, false))
                }
            });
            let start = if is_source { "" } else { "map" };
            format!("{start}{}", joined(fields.collect()))
        }
        scalar => scalar.to_string(),
    }
}
