//! Reads profiles out of loose JSON, and says what does not fit without quoting it: a value that stands in the wrong
//! place may be a secret.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{ObjectRef, Unreadable};
use crate::api::{ClusterProfile, names};

impl ObjectRef {
    /// Which object this is, as far as it can be made out; `kind` where it does not tell its own.
    pub fn of_value(object: &Value, kind: &str) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            kind: object["kind"].as_str().unwrap_or(kind).to_owned(),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            resource_version: text(&metadata["resourceVersion"]),
        }
    }
}

/// Reads a profile.
///
/// # Errors
/// When it does not have the shape of one; tells which part does not fit.
pub fn read_profile(object: &Value) -> Result<ClusterProfile, Box<Unreadable>> {
    ClusterProfile::deserialize(object).map_err(|error| {
        Box::new(Unreadable {
            object: ObjectRef::of_value(object, names::KIND),
            message: misfit(object).unwrap_or_else(|| without_values(&error.to_string())),
        })
    })
}

/// The first part of a profile that does not fit, found by trying the parts one by one.
fn misfit(object: &Value) -> Option<String> {
    for (key, value) in object.as_object()? {
        let refused = |part: Value| {
            let alone = Map::from_iter([(key.clone(), part)]);
            ClusterProfile::deserialize(Value::Object(alone)).err()
        };
        let Some(error) = refused(value.clone()) else {
            continue;
        };
        for (inner, value) in value.as_object().into_iter().flatten() {
            let alone = Map::from_iter([(inner.clone(), value.clone())]);
            if let Some(error) = refused(Value::Object(alone)) {
                return Some(format!("{key}.{inner}: {}", without_values(&error.to_string())));
            }
        }
        return Some(format!("{key}: {}", without_values(&error.to_string())));
    }
    None
}

/// serde's message without what it quotes of the input.
pub(crate) fn without_values(message: &str) -> String {
    let (found, expected) = match message.rfind(", expected ") {
        Some(at) => message.split_at(at),
        None => (message, ""),
    };
    match found.find(['"', '`']) {
        Some(quote) if !expected.is_empty() => format!("{}{expected}", found[..quote].trim_end()),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_the_part_and_quotes_nothing() {
        let object = |status: Value| json!({"metadata": {"namespace": "n", "name": "a"}, "status": status});
        let refused = |object: Value| read_profile(&object).expect_err("it does not fit");

        let conditions = refused(object(json!({"conditions": {"Joined": "canary"}})));
        assert_eq!(conditions.object.to_string(), "ClusterProfile n/a");
        assert_eq!(
            conditions.message,
            "status.conditions: invalid type: map, expected a sequence"
        );

        let properties = refused(object(json!({"properties": "canary, expected \"canary"})));
        assert_eq!(
            properties.message,
            "status.properties: invalid type: string, expected a sequence"
        );

        let whole = refused(object(json!("canary")));
        assert!(
            whole
                .message
                .starts_with("status: invalid type: string, expected "),
            "{}",
            whole.message
        );

        let number = refused(json!({"metadata": {"name": 7}}));
        assert_eq!(
            number.message,
            "metadata.name: invalid type: integer, expected a string"
        );
        assert_eq!(number.object.name, "");

        read_profile(&object(Value::Null)).expect("null is as good as absent");
    }
}
