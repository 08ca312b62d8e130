//! The differences between two values of one type, part by part.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

/// One part that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Where, such as `suites[identity].core.statistics.passed`.
    pub at: String,
    /// What stands in the first; none where it lacks the part.
    pub old: Option<Value>,
    /// What stands in the second; none where it lacks the part.
    pub new: Option<Value>,
}

impl Change {
    /// What stands in the first, for a person.
    pub fn old_text(&self) -> String {
        text(self.old.as_ref())
    }

    /// What stands in the second, for a person.
    pub fn new_text(&self) -> String {
        text(self.new.as_ref())
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        // All of an entry is more than a line holds.
        Some(Value::Object(fields)) => match fields.get("verdict").and_then(Value::as_str) {
            Some(verdict) => format!("an entry with verdict {verdict}"),
            None => Value::Object(fields.clone()).to_string(),
        },
        Some(value) => value.to_string(),
    }
}

/// All that differs, in the order of the parts.
pub(super) fn changes(old: &impl Serialize, new: &impl Serialize) -> Vec<Change> {
    let value = |what: Result<Value, _>| what.unwrap_or(Value::Null);
    let mut changes = Vec::new();
    compare(
        String::new(),
        Some(&value(serde_json::to_value(old))),
        Some(&value(serde_json::to_value(new))),
        &mut changes,
    );
    changes
}

fn compare(at: String, old: Option<&Value>, new: Option<&Value>, into: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let parts = match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            let dot = if at.is_empty() { "" } else { "." };
            let part = |key: &String| (format!("{at}{dot}{key}"), old.get(key), new.get(key));
            keys.into_iter().map(part).collect()
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => by_name(&at, old, new),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        into.push(Change {
            at,
            old: old.cloned(),
            new: new.cloned(),
        });
    }
    for (at, old, new) in parts {
        compare(at, old, new, into);
    }
}

type Part<'a> = (String, Option<&'a Value>, Option<&'a Value>);

/// Pairs the items of two lists by name; empty if they are not objects.
fn by_name<'a>(at: &str, old: &'a [Value], new: &'a [Value]) -> Vec<Part<'a>> {
    if !old.iter().chain(new).all(Value::is_object) {
        return Vec::new();
    }
    let (old, new) = (named(old), named(new));
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in old.iter().chain(&new) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let find = |items: &[(String, &'a Value)], name: &String| {
        let found = items.iter().find(|(own, _)| own == name);
        found.map(|(_, item)| *item)
    };
    let part = |name: &String| (format!("{at}[{name}]"), find(&old, name), find(&new, name));
    let parts: Vec<Part<'a>> = names.into_iter().map(part).collect();
    if parts.iter().all(|(_, old, new)| old == new) {
        // Only their order differs.
        Vec::new()
    } else {
        parts
    }
}

/// Names each item by its rule or its name, and by its place if that is missing or not unique.
fn named(items: &[Value]) -> Vec<(String, &Value)> {
    let mut named: Vec<(String, &Value)> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let own = item
            .get("rule")
            .or_else(|| item.get("name"))
            .and_then(Value::as_str);
        let name = match own {
            Some(own) if named.iter().all(|(name, _)| name != own) => own.to_owned(),
            _ => place.to_string(),
        };
        named.push((name, item));
    }
    named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_told() {
        let old = json!({"a": 1, "list": [{"rule": "x", "n": 1}, {"rule": "y"}], "tags": ["b"]});
        let new = json!({"list": [{"rule": "y"}, {"rule": "x", "n": 2}], "tags": ["b", "c"]});
        let told: Vec<String> = changes(&old, &new)
            .iter()
            .map(|change| format!("{}: {} -> {}", change.at, change.old_text(), change.new_text()))
            .collect();
        assert_eq!(
            told,
            [
                "a: 1 -> nothing",
                "list[x].n: 1 -> 2",
                "tags: [\"b\"] -> [\"b\",\"c\"]"
            ]
        );
        assert_eq!(changes(&old, &old), []);
    }

    #[test]
    fn order_and_names_that_are_not_unique_count() {
        let (a, b) = (json!({"rule": "x"}), json!({"rule": "y"}));
        assert_eq!(changes(&json!([a, b]), &json!([b, a])).len(), 1);
        let twice = json!([{"rule": "x", "n": 1}, {"rule": "x", "n": 2}]);
        let other = json!([{"rule": "x", "n": 1}, {"rule": "x", "n": 3}]);
        assert_eq!(changes(&twice, &other)[0].at, "[1].n");
    }
}
