//! What is wrong with a value that is to be applied, in the words of the real server.

use std::collections::BTreeSet;

use serde_json::Value;

use super::field::quoted;
use super::merge::{Shape, Type, told};
use super::schema::{ListType, Type as Kind};

/// What is wrong with a value that is to be applied, with the path of each error before it.
pub(super) fn errors(value: &Value, of: Type<'_>) -> Vec<String> {
    let mut found = Vec::new();
    check(value, of, "", &mut found);
    found
}

fn check(value: &Value, of: Type<'_>, path: &str, found: &mut Vec<String>) {
    let at = |why: String| match path {
        "" => why,
        path => format!("{path}: {why}"),
    };
    let got = || go_text(value, false);
    match (of.shape(value), value) {
        (_, Value::Null) => {}
        (Shape::Map, Value::Object(fields)) => {
            for (name, field) in fields {
                let below = format!("{path}.{name}");
                match of.field(name) {
                    Some(known) => check(field, known, &below, found),
                    None => return found.push(format!("{below}: field not declared in schema")),
                }
            }
        }
        (Shape::Map, _) => found.push(at(format!("expected map, got &{{{}}}", got()))),
        (Shape::List, Value::Array(items)) => {
            let mut seen = BTreeSet::new();
            for (i, item) in items.iter().enumerate() {
                let step = match of.list_type() {
                    ListType::Atomic => format!("i:{i}"),
                    _ => match of.step(item) {
                        Ok(step) => step,
                        Err(why) => return found.push(at(format!("element {i}: {why}"))),
                    },
                };
                let told = told(&step);
                if !seen.insert(step) {
                    found.push(at(format!("duplicate entries for key {told}")));
                }
                check(item, of.item(), &format!("{path}{told}"), found);
            }
        }
        (Shape::List, _) => found.push(at(format!("expected list, got &{{{}}}", got()))),
        (Shape::Scalar, _) => match of.kind() {
            Some(Kind::String) if !value.is_string() => found.push(at(format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go_text(value, true)
            ))),
            Some(Kind::Boolean) if !value.is_boolean() => {
                found.push(at(format!("expected boolean, got &{{{}}}", got())));
            }
            Some(Kind::Integer | Kind::Number) if !value.is_number() => {
                let kind = match value {
                    Value::String(_) => "string",
                    Value::Bool(_) => "bool",
                    Value::Array(_) => "[]interface {}",
                    _ => "map[string]interface {}",
                };
                found.push(at(format!("expected numeric (int or float), got {kind}")));
            }
            _ => {}
        },
    }
}

/// A value as Go prints it, or as it would stand in a source.
pub(super) fn go_text(value: &Value, is_source: bool) -> String {
    let below = |value: &Value| go_text(value, is_source);
    match value {
        Value::Null if is_source => "interface {}(nil)".to_owned(),
        Value::Null => "<nil>".to_owned(),
        Value::String(text) if !is_source => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(below).collect();
            match is_source {
                true => format!("[]interface {{}}{{{}}}", items.join(", ")),
                false => format!("[{}]", items.join(" ")),
            }
        }
        Value::Object(fields) if is_source => {
            let fields = fields
                .iter()
                .map(|(name, field)| format!("{}:{}", quoted(name), below(field)));
            format!(
                "map[string]interface {{}}{{{}}}",
                fields.collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| format!("{name}:{}", below(field)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        scalar => scalar.to_string(),
    }
}
