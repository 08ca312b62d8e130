//! The paths of fields, as findings write them, and the fields in which two values differ.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A value, and the same value without credentials.
#[derive(Clone, Copy)]
pub(crate) struct Masked<'v> {
    pub(crate) value: &'v Value,
    pub(crate) shown: &'v Value,
}

/// A field in which two values differ, without credentials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldDifference {
    /// The path, for example `suites[identity].core.statistics.passed`.
    pub at: String,
    /// The first value, if it has the field.
    pub old: Option<Value>,
    /// The second value, if it has the field.
    pub new: Option<Value>,
}

impl FieldDifference {
    /// The first value, for people.
    pub fn old_text(&self) -> String {
        text(self.old.as_ref())
    }

    /// The second value, for people.
    pub fn new_text(&self) -> String {
        text(self.new.as_ref())
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        // A whole entry is too long for a line.
        Some(value) => match value["verdict"].as_str() {
            Some(verdict) => format!("an entry with verdict {verdict}"),
            None => value.to_string(),
        },
    }
}

/// The parts of a value, by path and by their place among those of the same path.
type Parts<'v> = BTreeMap<(String, usize), Masked<'v>>;

impl<'v> Masked<'v> {
    /// A value that holds no credentials.
    pub(crate) fn plain(value: &'v Value) -> Self {
        Self { value, shown: value }
    }

    /// The value of a field, as it may be shown.
    pub(crate) fn field(self, path: &str) -> Option<&'v Value> {
        let (mut masked, mut field) = (self, String::new());
        while field != path {
            let mut parts = parts(&field, Some(masked))?.into_iter();
            let ((next, _), part) =
                parts.find(|((next, _), _)| next.len() > field.len() && leads(next, path))?;
            (field, masked) = (next, part);
        }
        Some(masked.shown)
    }
}

/// Lists the fields in which two values differ, in the order of their paths. Items of lists are identified by their
/// names; one that appears or disappears is one difference.
pub(crate) fn differences(old: Option<Masked>, new: Masked) -> Vec<FieldDifference> {
    let mut changes = Vec::new();
    compare("", old, Some(new), &mut changes);
    changes
}

fn compare<'v>(
    path: &str,
    before: Option<Masked<'v>>,
    after: Option<Masked<'v>>,
    changes: &mut Vec<FieldDifference>,
) {
    let value = |side: Option<Masked<'v>>| side.map(|masked| masked.value);
    if value(before) == value(after) {
        return;
    }
    let (Some(mut old), Some(mut new)) = (parts(path, before), parts(path, after)) else {
        let shown = |side: Option<Masked<'v>>| side.map(|masked| masked.shown.clone());
        changes.push(FieldDifference {
            at: path.to_owned(),
            old: shown(before),
            new: shown(after),
        });
        return;
    };
    let mut keys: Vec<(String, usize)> = old.keys().chain(new.keys()).cloned().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        compare(&key.0, old.remove(&key), new.remove(&key), changes);
    }
}

/// The parts of a value; `None` if it is shown as a whole.
fn parts<'v>(path: &str, side: Option<Masked<'v>>) -> Option<Parts<'v>> {
    let Some(Masked { value, shown }) = side else {
        // An absent field has no parts. An absent item is shown as a whole.
        return (!path.ends_with(']')).then(Parts::new);
    };
    let mut parts = Parts::new();
    match (value, shown) {
        (Value::Object(fields), Value::Object(shown)) => {
            for (key, value) in fields {
                let shown = shown.get(key).unwrap_or(&Value::Null);
                parts.insert((within(path, key), 0), Masked { value, shown });
            }
        }
        (Value::Array(items), Value::Array(shown)) if items.iter().all(Value::is_object) => {
            for (place, (value, shown)) in items.iter().zip(shown).enumerate() {
                let path = format!("{path}[{}]", identity(shown, place));
                let earlier = parts.range((path.clone(), 0)..=(path.clone(), usize::MAX));
                let earlier = earlier.count();
                parts.insert((path, earlier), Masked { value, shown });
            }
        }
        _ => return None,
    }
    Some(parts)
}

/// Identifies an item among its list; a decision by its cluster, as its place changes with those before it.
fn identity(item: &Value, place: usize) -> String {
    if let Some(name) = name_of(item).or_else(|| item["rule"].as_str()) {
        return name.to_owned();
    }
    let reference = &item["clusterProfileRef"];
    match (reference["namespace"].as_str(), reference["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_owned(),
        _ => place.to_string(),
    }
}

/// The path of a field. Names of labels and annotations contain dots, so they are in brackets.
pub(crate) fn within(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        "metadata.labels" | "metadata.annotations" => format!("{path}[{key}]"),
        path => format!("{path}.{key}"),
    }
}

/// The name of a list's item in paths; `None` if paths name it by its place.
pub(crate) fn name_of(item: &Value) -> Option<&str> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    text("type").or_else(|| text("name"))
}

/// Whether the field of the first path is the field of the second path, or contains it.
pub(crate) fn leads(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(before: &Value, after: &Value) -> Vec<String> {
        differences(Some(Masked::plain(before)), Masked::plain(after))
            .iter()
            .map(|one| format!("{}: {} > {}", one.at, one.old_text(), one.new_text()))
            .collect()
    }

    #[test]
    fn items_are_identified_by_name() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        let before = json!({"metadata": {"labels": {"a.b/c": "1"}}, "status": {
            "conditions": [condition("Joined", "True"), condition("Healthy", "True")],
        }});
        let after = json!({"metadata": {"labels": {"a.b/c": "1", "d": "2"}}, "status": {
            "conditions": [condition("Healthy", "False"), condition("Joined", "True"), condition("New", "True")],
            "version": {"kubernetes": "v1"},
        }});
        assert_eq!(
            listed(&before, &after),
            [
                "metadata.labels[d]: nothing > 2",
                "status.conditions[Healthy].status: True > False",
                "status.conditions[New]: nothing > {\"status\":\"True\",\"type\":\"New\"}",
                "status.version.kubernetes: nothing > v1",
            ]
        );
        assert!(listed(&after, &after).is_empty());
        let field = |path: &str| Masked::plain(&after).field(path);
        assert_eq!(field("status.conditions[Healthy].status"), Some(&json!("False")));
        assert_eq!(field("status.absent"), None);
    }

    #[test]
    fn items_of_one_name_are_compared_in_their_order() {
        let before = json!({"list": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]});
        let after = json!({"list": [{"name": "a", "value": 1}, {"name": "a", "value": 3}]});
        assert_eq!(listed(&before, &after), ["list[a].value: 2 > 3"]);
    }
}
