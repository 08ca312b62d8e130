//! What JSON says of an object's fields; what it does not say is empty.

use serde_json::Value;

/// The text `name`.
pub(super) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// Whether `name` is said to be so.
pub(super) fn flag(object: &Value, name: &str) -> bool {
    object[name] == Value::Bool(true)
}

/// The items of the list `name`.
pub(super) fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().map_or(&[], Vec::as_slice)
}

/// The texts in the list `name`.
pub(super) fn texts<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    list(object, name).iter().filter_map(Value::as_str)
}

/// The fields of the object `name`.
pub(super) fn fields<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object[name].as_object().into_iter().flatten()
}
