//! Reads fields of JSON objects. A missing field, or one of another type, reads as empty.

use serde_json::Value;

/// The text in a field.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The items of the list in a field.
pub(crate) fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

/// The texts of the list in a field.
pub(crate) fn texts<'a, T: From<&'a str>>(object: &'a Value, field: &str) -> Vec<T> {
    let texts = list(object, field).iter().filter_map(Value::as_str);
    texts.map(T::from).collect()
}

/// The fields of the object in a field.
pub(crate) fn fields<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object[field].as_object().into_iter().flatten()
}

/// True if a field is true.
pub(crate) fn flag(object: &Value, field: &str) -> bool {
    object[field] == true
}

/// Copies a field from another object, or removes it if the other has none.
pub(crate) fn take(object: &mut Value, field: &str, from: &Value) {
    let Value::Object(fields) = object else { return };
    match from.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}
