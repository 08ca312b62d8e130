//! The paths of an object's fields, as findings write them.

use serde_json::Value;

/// The path of a field: labels and annotations have names with dots, and so stand in brackets.
pub(crate) fn within(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        "metadata.labels" | "metadata.annotations" => format!("{path}[{key}]"),
        path => format!("{path}.{key}"),
    }
}

/// Names a list's item in paths; none for an item that its place names.
pub(crate) fn name_of(item: &Value) -> Option<&str> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    text("type").or_else(|| text("name"))
}

/// Whether the field of the first path is that of the second, or holds it.
pub(crate) fn leads(own: &str, path: &str) -> bool {
    path.strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
