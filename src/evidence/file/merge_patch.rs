//! JSON Merge Patch (RFC 7396): a later version, as its difference from the version before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A merge patch of an object: an absent member is unchanged, `null` removes a member, and a list is replaced.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct MergePatch(Map<String, Value>);

impl MergePatch {
    /// The patch that turns `before` into `after`. A member that is `null` counts as absent.
    pub fn between(before: &Value, after: &Value) -> Self {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => Self(difference(before, after)),
            _ => Self::default(),
        }
    }

    /// Applies the patch to an object.
    pub fn apply(self, target: &mut Value) {
        merge(target, Value::Object(self.0));
    }
}

fn difference(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let is_in = |map: &Map<String, Value>, key: &str| map.get(key).is_some_and(|value| !value.is_null());
    let removed = before
        .keys()
        .filter(|key| is_in(before, key) && !is_in(after, key));
    let mut patch: Map<String, Value> = removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after.iter().filter(|(_, value)| !value.is_null()) {
        match (before.get(key), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                patch.insert(key.clone(), Value::Object(difference(old, new)));
            }
            (_, new) => {
                patch.insert(key.clone(), new.clone());
            }
        }
    }
    patch
}

/// The algorithm of RFC 7396, section 2.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}
