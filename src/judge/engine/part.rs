//! The part of an object that a finding is about.

use serde::Serialize;
use serde_json::Value;

/// The part at a finding's path: the element of a list or a map that the path names last, or the whole field without one.
pub(super) fn part<T: Serialize>(object: &T, path: &str) -> Option<Value> {
    let element = path.rfind(']').map_or(path, |last| &path[..=last]);
    let object = serde_json::to_value(object).ok()?;
    at(&object, element).cloned()
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    if let Some((key, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']')) {
        return at(element(value, key)?, rest);
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    let (field, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    at(value.get(field)?, rest)
}

/// The entry of a map with a key, or the element of a list with that type or name.
fn element<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let is_named = |item: &&Value| ["type", "name"].iter().any(|field| item[field] == key);
    match value {
        Value::Array(items) => items.iter().find(is_named),
        other => other.get(key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::part;

    #[test]
    fn the_last_element_that_a_path_names() {
        let object = json!({
            "metadata": {"labels": {"example.com/tier": "gold"}},
            "spec": {"displayName": "a"},
            "status": {"conditions": [{"type": "Joined", "status": "True"}]},
        });
        let cases = [
            ("metadata.labels[example.com/tier]", json!("gold")),
            ("spec.displayName", json!("a")),
            (
                "status.conditions[Joined].lastTransitionTime",
                json!({"type": "Joined", "status": "True"}),
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(part(&object, path), Some(expected), "{path}");
        }
        assert_eq!(part(&object, "status.conditions[Other].status"), None);
        assert_eq!(part(&object, "status.properties[n].value"), None);
    }
}
