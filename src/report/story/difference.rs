//! The fields in which two values differ.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::text::field_path::{leads, name_of, within};

/// A value, and what may be shown of it: the same without credentials.
#[derive(Clone, Copy)]
pub(super) struct Seen<'v> {
    pub(super) value: &'v Value,
    pub(super) shown: &'v Value,
}

/// What takes a difference: the field, and what may be shown of it before and after.
type Found<'f, 'v> = dyn FnMut(&str, Option<&'v Value>, Option<&'v Value>) + 'f;

/// The parts of a value, by path and by their place among those of the same path.
type Parts<'v> = BTreeMap<(String, usize), Seen<'v>>;

/// Finds the fields in which two values differ, in the order of their paths. Items of lists are known by their names; one
/// that appears or goes is one difference.
pub(super) fn differences<'v>(before: Option<Seen<'v>>, after: Option<Seen<'v>>, found: &mut Found<'_, 'v>) {
    compare("", before, after, found);
}

fn compare<'v>(path: &str, before: Option<Seen<'v>>, after: Option<Seen<'v>>, found: &mut Found<'_, 'v>) {
    let value = |side: Option<Seen<'v>>| side.map(|seen| seen.value);
    if value(before) == value(after) {
        return;
    }
    let (Some(mut old), Some(mut new)) = (parts(path, before), parts(path, after)) else {
        let shown = |side: Option<Seen<'v>>| side.map(|seen| seen.shown);
        found(path, shown(before), shown(after));
        return;
    };
    let mut keys: Vec<(String, usize)> = old.keys().chain(new.keys()).cloned().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        compare(&key.0, old.remove(&key), new.remove(&key), found);
    }
}

/// The parts of a value; none if it is shown as a whole.
fn parts<'v>(path: &str, side: Option<Seen<'v>>) -> Option<Parts<'v>> {
    let Some(Seen { value, shown }) = side else {
        // A field that is absent has no parts. An item that is absent is shown as a whole.
        return (!path.ends_with(']')).then(Parts::new);
    };
    let mut parts = Parts::new();
    match (value, shown) {
        (Value::Object(fields), Value::Object(shown)) => {
            for (key, value) in fields {
                let shown = shown.get(key).unwrap_or(&Value::Null);
                parts.insert((within(path, key), 0), Seen { value, shown });
            }
        }
        (Value::Array(items), Value::Array(shown)) if items.iter().all(Value::is_object) => {
            for (place, (value, shown)) in items.iter().zip(shown).enumerate() {
                let path = format!("{path}[{}]", name_of_item(shown, place));
                let earlier = parts
                    .range((path.clone(), 0)..=(path.clone(), usize::MAX))
                    .count();
                parts.insert((path, earlier), Seen { value, shown });
            }
        }
        _ => return None,
    }
    Some(parts)
}

/// Names an item; a decision by its cluster, as its place changes with those before it.
fn name_of_item(item: &Value, place: usize) -> String {
    if let Some(name) = name_of(item) {
        return name.to_owned();
    }
    let reference = &item["clusterProfileRef"];
    match (reference["namespace"].as_str(), reference["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_owned(),
        _ => place.to_string(),
    }
}

/// The value of a field.
pub(super) fn find<'v>(seen: Seen<'v>, path: &str) -> Option<Seen<'v>> {
    let (mut seen, mut own) = (seen, String::new());
    while own != path {
        let parts = parts(&own, Some(seen))?;
        let mut parts = parts.into_iter();
        let ((next, _), part) = parts.find(|((next, _), _)| next.len() > own.len() && leads(next, path))?;
        (own, seen) = (next, part);
    }
    Some(seen)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: &Value, after: &Value) -> Vec<String> {
        let seen = |value| Some(Seen { value, shown: value });
        let mut told = Vec::new();
        differences(seen(before), seen(after), &mut |path, before, after| {
            let text = |value: Option<&Value>| value.map_or("-".to_owned(), Value::to_string);
            told.push(format!("{path}: {} > {}", text(before), text(after)));
        });
        told
    }

    #[test]
    fn items_are_known_by_their_names() {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
        let before = json!({"metadata": {"labels": {"a.b/c": "1"}}, "status": {
            "conditions": [condition("Joined", "True"), condition("Healthy", "True")],
        }});
        let after = json!({"metadata": {"labels": {"a.b/c": "1", "d": "2"}}, "status": {
            "conditions": [condition("Healthy", "False"), condition("Joined", "True"), condition("New", "True")],
            "version": {"kubernetes": "v1"},
        }});
        assert_eq!(
            told(&before, &after),
            [
                "metadata.labels[d]: - > \"2\"",
                "status.conditions[Healthy].status: \"True\" > \"False\"",
                "status.conditions[New]: - > {\"status\":\"True\",\"type\":\"New\"}",
                "status.version.kubernetes: - > \"v1\"",
            ]
        );
        assert!(told(&after, &after).is_empty());
    }

    #[test]
    fn a_cluster_that_goes_moves_no_other() {
        let cluster = |name: &str| json!({"clusterProfileRef": {"name": name, "namespace": "fleet"}});
        let before = json!({"decisions": [cluster("a"), cluster("b"), cluster("c")]});
        let after = json!({"decisions": [cluster("b"), cluster("c")]});
        let told = told(&before, &after);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("decisions[fleet/a]: {"), "{told:?}");
    }

    #[test]
    fn items_of_one_name_are_compared_in_their_order() {
        let before = json!({"list": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]});
        let after = json!({"list": [{"name": "a", "value": 1}, {"name": "a", "value": 3}]});
        assert_eq!(told(&before, &after), ["list[a].value: 2 > 3"]);
    }

    #[test]
    fn a_field_is_found_by_its_path() {
        let value = json!({"metadata": {"labels": {"a.b/c": "1"}}, "status": {"conditions": [{"type": "J", "status": "T"}]}});
        let seen = Seen {
            value: &value,
            shown: &value,
        };
        let found = |path: &str| find(seen, path).map(|seen| seen.value.clone());
        assert_eq!(found("metadata.labels[a.b/c]"), Some(json!("1")));
        assert_eq!(found("status.conditions[J].status"), Some(json!("T")));
        assert_eq!(found("status.conditions[K].status"), None);
        assert_eq!(found("status.version"), None);
    }
}
