//! Redacts credentials in text from the hub, before it is shown or kept.
//!
//! Rules judge the original text. What people see must not spread a leaked credential, so a doubtful word is redacted
//! too: see [`super::leak`].

use std::{borrow::Cow, collections::HashSet};

use serde_json::Value;

use crate::leak::{finds, leaks_in_text, places_in_value, short};

/// Replaces a credential.
const TAKEN: &str = "…";

/// Replaces all recognizable credentials in a text. A text that is a document, whose keys give more away, goes as a whole.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let finds = finds(text);
    if finds.is_empty() {
        return whole_unless_clean(text.into());
    }
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for find in finds {
        clean.push_str(&text[end..find.range.start]);
        clean.push_str(TAKEN);
        end = find.range.end;
    }
    clean.push_str(&text[end..]);
    whole_unless_clean(clean.into())
}

fn whole_unless_clean(text: Cow<'_, str>) -> Cow<'_, str> {
    if leaks_in_text(&text).is_empty() {
        text
    } else {
        TAKEN.into()
    }
}

/// Replaces all credentials in a document: those that a text shows, and those that only its key gives away, such as the
/// value of `join-password`. Returns whether there were any.
pub fn redact_value(value: &mut Value) -> bool {
    let places = Places::of(value);
    let holds_any = !places.leading.is_empty();
    if holds_any {
        redact_at(value, &mut String::new(), &places);
    }
    holds_any
}

/// Where a document holds credentials.
struct Places {
    /// The paths of credentials, and all that lead to one: a text may be a document itself.
    leading: HashSet<String>,
    /// The paths of values whose key alone gives them away.
    named: HashSet<String>,
}

impl Places {
    fn of(value: &Value) -> Self {
        let found = places_in_value(value);
        let mut leading = HashSet::new();
        for place in found.leaks.iter().chain(&found.named) {
            let steps = place.match_indices(['.', '[']).map(|(end, _)| &place[..end]);
            leading.extend(steps.chain([&**place]).map(str::to_owned));
        }
        Self {
            leading,
            named: found.named.into_iter().collect(),
        }
    }
}

fn redact_at(value: &mut Value, place: &mut String, places: &Places) {
    match value {
        Value::String(text) => {
            if places.named.contains(place) {
                TAKEN.clone_into(text);
            } else if places.leading.contains(place) {
                *text = redacted_leaf(text);
            }
        }
        Value::Number(_) => {
            if places.leading.contains(place) {
                *value = TAKEN.into();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                redact_within(item, place, &format!("[{index}]"), places);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                redact_within(item, place, &format!(".{}", short(key)), places);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn redact_within(value: &mut Value, place: &mut String, step: &str, places: &Places) {
    let length = place.len();
    place.push_str(step);
    redact_at(value, place, places);
    place.truncate(length);
}

/// Redacts a text in which a credential was found. It goes as a whole if nothing in it looks like one.
fn redacted_leaf(text: &str) -> String {
    let clean = without_credentials(text);
    if *clean == *text {
        TAKEN.to_owned()
    } else {
        clean.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn takes_out_what_is_unmistakable() {
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.c2lnbmF0dXJl";
        let key = "-----BEGIN EC PRIVATE KEY-----\nQ0FOQVJZ\n-----END EC PRIVATE KEY-----";
        for (text, shown) in [
            ("https://user:secret@a:1/x@y", "https://…@a:1/x@y"),
            (
                r#"["https://s3cret@a","https:\/\/b","//u:p@q@c"]"#,
                r#"["https://…@a","https:\/\/b","//…@c"]"#,
            ),
            (&format!("token={token}, expired"), "token=…, expired"),
            (
                &format!("Authorization: Bearer {}", "x1".repeat(20)),
                "Authorization: …",
            ),
            (
                "joined with pin=4711, pin: 3 nodes",
                "joined with pin=…, pin: 3 nodes",
            ),
            (
                "login with token 0f3c5a112233445566778899 failed",
                "login with token … failed",
            ),
            (&format!("a {key} b"), "a … b"),
            (&key[..40], "…"),
            ("a: 1\npassword: CANARY-hunter2\n", "a: 1\npassword: …\n"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }

    #[test]
    fn a_key_gives_its_value_away() {
        let mut value = json!({
            "metadata": {"annotations": {"join-password": "CANARY-hunter2", "note": "fine"}},
            "properties": [{"name": "api-token", "value": "CANARYs3cr3t"}, {"name": "nodes", "value": "3"}],
            "message": "GET https://u:CANARY@host failed",
            "text": "{\"users\": [{\"password\": \"CANARY-pw\"}], \"a\": 1}",
            "args": ["--password", "CANARY-pw", "--cluster", "one"],
            "db-password": "CANARY//w@rd",
            "app-password": "token=abcdefgh12345678; CANARY",
        });
        redact_value(&mut value);
        let text = value.to_string();
        assert!(!text.contains("CANARY"), "{text}");
        assert_eq!(value["metadata"]["annotations"]["note"], "fine");
        assert_eq!(value["properties"][1]["value"], "3");
        assert_eq!(value["message"], "GET https://…@host failed");
        assert_eq!(value["args"][3], "one");
    }

    #[test]
    fn leaves_other_text_as_it_is() {
        for text in [
            "oidc:alice@example.com",
            "a bearer token is needed",
            "-----BEGIN CERTIFICATE-----\nQ0FOQVJZ",
            "eyJ is how one begins",
        ] {
            assert_eq!(without_credentials(text), text);
        }
    }
}
