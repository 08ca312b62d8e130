//! Compares versions and answers, and tells in which fields they differ: without credentials, and shortened.

use evidence::redact::redact_value;
use serde_json::Value;

use super::{
    difference::{Seen, differences, find},
    event::{Changed, Event, beginning, kept, size, unread},
    object::StoryObject,
};
use crate::text::{
    field_path::leads,
    yaml::{flow, scalar},
};

/// How many changed fields of an event are listed.
const FIELDS: usize = 6;

/// The parts of a member's answers that are listed first.
const FIRST: [&str; 2] = ["version", "readyz"];

/// How the keys of a kubeconfig end whose values are files in base64.
const DATA: &str = "-data";

/// The fields of an item that are told first, as its value may be shortened.
const TELLING: [&str; 6] = ["type", "name", "status", "reason", "value", "server"];

impl Event {
    /// Adds the fields in which two values differ, those of the finding first.
    pub(super) fn compare(&mut self, before: Option<Value>, after: Value, field: &str) {
        let (old, new) = (before.as_ref().map(shown), shown(&after));
        let old = before.as_ref().zip(old.as_ref());
        let old = old.map(|(value, shown)| Seen { value, shown });
        let new = Seen {
            value: &after,
            shown: &new,
        };
        let mut found: Vec<(String, Option<&Value>, Option<&Value>)> = Vec::new();
        differences(old, Some(new), &mut |path, before, after| {
            found.push((path.to_owned(), before, after));
        });
        found.sort_by_key(|(path, ..)| {
            let is_field = !field.is_empty() && is_of(path, field);
            // Of a member's answers, these tell most.
            let is_telling = FIRST.iter().any(|first| leads(first, path));
            (!is_field, !is_telling)
        });
        self.more_changed = found.len().saturating_sub(FIELDS);
        let listed = found.iter().take(FIELDS);
        self.changed.extend(listed.map(|(path, before, after)| Changed {
            path: kept(path),
            before: before.map(text),
            after: after.map(text),
        }));
    }
}

/// Whether one of two fields holds the other.
pub(super) fn is_of(path: &str, field: &str) -> bool {
    leads(path, field) || leads(field, path)
}

/// An object as the hub has it, without what changes with each write.
pub(super) fn value(object: &impl StoryObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("writers");
    }
    value
}

/// The fields in which two values differ.
pub(super) fn changed(before: &Value, after: &Value) -> Vec<String> {
    let seen = |value| Some(Seen { value, shown: value });
    let mut paths = Vec::new();
    differences(seen(before), seen(after), &mut |path, _, _| {
        paths.push(path.to_owned())
    });
    paths
}

/// The value of a field in an object's first version.
pub(super) fn value_of(object: &impl StoryObject, field: &str) -> Option<Changed> {
    let value = value(object);
    let shown = shown(&value);
    let seen = Seen {
        value: &value,
        shown: &shown,
    };
    Some(Changed {
        path: kept(field),
        before: None,
        after: Some(text(find(seen, field)?.shown)),
    })
}

/// What may be shown of a value.
fn shown(value: &Value) -> Value {
    let mut shown = value.clone();
    leave_long_out(&mut shown);
    redact_value(&mut shown);
    shown
}

fn leave_long_out(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(told) = unread(text) {
                *text = told;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(leave_long_out),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    // A certificate would hide the server beside it.
                    Value::String(text) if key.ends_with(DATA) => *text = size(text),
                    other => leave_long_out(other),
                }
            }
        }
        _ => {}
    }
}

/// A value in one line.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => kept(text),
        other => beginning(&line(other)),
    }
}

/// The same, whole; of objects the telling fields first.
fn line(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return flow(value);
    };
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    let rank = |key: &str| {
        let telling = TELLING.iter().position(|own| *own == key);
        telling.unwrap_or(TELLING.len())
    };
    fields.sort_by_key(|(key, _)| rank(key));
    let fields = fields
        .iter()
        .map(|(key, value)| format!("{}: {}", scalar(key), line(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}
