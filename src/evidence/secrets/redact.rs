//! Redacts credentials in text from the hub, doubtful ones too, before it is shown or kept: see [`super::leak`].

use std::borrow::Cow;

use serde_json::Value;

use super::leak::{finds, grade_field, grade_number, leaks_in_text, options, variable};

/// Replaces a credential.
const MASK: &str = "…";

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
        clean.push_str(MASK);
        end = find.range.end;
    }
    clean.push_str(&text[end..]);
    whole_unless_clean(clean.into())
}

fn whole_unless_clean(text: Cow<'_, str>) -> Cow<'_, str> {
    if leaks_in_text(&text).is_empty() {
        text
    } else {
        MASK.into()
    }
}

/// Replaces all credentials in a document, also those that only a key gives away. Returns whether there were any.
pub fn redact_value(value: &mut Value) -> bool {
    redact(None, value)
}

fn redact(name: Option<&str>, value: &mut Value) -> bool {
    let is_credential = match value {
        Value::String(text) => name.is_some_and(|name| grade_field(name, text).is_some()),
        Value::Number(number) => name.is_some_and(|name| grade_number(name, &number.to_string()).is_some()),
        _ => false,
    };
    if is_credential {
        *value = MASK.into();
        return true;
    }
    let mut holds_any = false;
    match value {
        Value::String(text) if !leaks_in_text(text).is_empty() => {
            let clean = without_credentials(text).into_owned();
            // It goes as a whole if nothing in it looks like a credential.
            *text = if clean == *text { MASK.to_owned() } else { clean };
            holds_any = true;
        }
        Value::Array(items) => {
            let options: Vec<Option<String>> =
                options(items).map(|option| option.map(str::to_owned)).collect();
            for (item, option) in items.iter_mut().zip(&options) {
                holds_any |= redact(option.as_deref().or(name), item);
            }
        }
        Value::Object(fields) => {
            let names = fields.keys().map(|name| variable(fields, name).to_owned());
            let names: Vec<String> = names.collect();
            for ((key, item), name) in fields.iter_mut().zip(&names) {
                if !leaks_in_text(key).is_empty() && (item.is_string() || item.is_number()) {
                    *item = MASK.into();
                    holds_any = true;
                }
                holds_any |= redact(Some(name), item);
            }
        }
        _ => {}
    }
    holds_any
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_in_text_are_replaced() {
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.c2lnbmF0dXJl";
        let key = "-----BEGIN EC PRIVATE KEY-----\nQ0FOQVJZ\n-----END EC PRIVATE KEY-----";
        let bearer = format!("Authorization: Bearer {}", "x1".repeat(20));
        let urls = r#"["https://s3cret@a","https:\/\/b","//u:p@q@c"]"#;
        let pin = "joined with pin=4711, pin: 3 nodes";
        let word = "login with token 0f3c5a112233445566778899 failed";
        for (text, expected) in [
            ("https://user:secret@a:1/x@y", "https://…@a:1/x@y"),
            (urls, r#"["https://…@a","https:\/\/b","//…@c"]"#),
            (&format!("token={token}, expired"), "token=…, expired"),
            (&bearer, "Authorization: …"),
            (pin, "joined with pin=…, pin: 3 nodes"),
            (word, "login with token … failed"),
            (&format!("a {key} b"), "a … b"),
            (&key[..40], "…"),
            ("a: 1\npassword: CANARY-hunter2\n", "a: 1\npassword: …\n"),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
    }

    #[test]
    fn values_of_credential_keys_are_replaced() {
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
    fn other_text_is_kept() {
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
