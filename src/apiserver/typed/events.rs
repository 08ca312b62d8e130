//! Events: two groups serve the same objects, with different names for some fields.

use serde_json::Value;

use super::{json::decode, messages::message_of};

/// Field names in the core group, and in `events.k8s.io`.
const NAMES: [[&str; 2]; 7] = [
    ["involvedObject", "regarding"],
    ["message", "note"],
    ["reportingComponent", "reportingController"],
    ["source", "deprecatedSource"],
    ["firstTimestamp", "deprecatedFirstTimestamp"],
    ["lastTimestamp", "deprecatedLastTimestamp"],
    ["count", "deprecatedCount"],
];

/// Converts an Event to the field names of `group`. The core group's form is stored.
pub(crate) fn event_in(group: &str, event: &Value) -> Value {
    let Value::Object(fields) = event else {
        return event.clone();
    };
    let mut fields = fields.clone();
    let (from, to, api_version) = match group {
        "" => (1, 0, "v1"),
        _ => (0, 1, "events.k8s.io/v1"),
    };
    for names in NAMES {
        if let Some(value) = fields.remove(names[from]) {
            fields.insert(names[to].to_owned(), value);
        }
    }
    fields.insert("apiVersion".to_owned(), api_version.into());
    // The groups differ in which empty fields they show. All are known fields, so decoding cannot fail.
    let told = message_of(group, "Event").map(|message| decode(message, &mut fields));
    assert!(
        matches!(told, Some(Ok(ref unknown)) if unknown.is_empty()),
        "{told:?}"
    );
    Value::Object(fields)
}
