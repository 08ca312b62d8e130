//! Redacts credentials in text from the hub, before it is shown or kept.
//!
//! Rules judge the original text. What people see must not spread a leaked credential, so a doubtful word is redacted
//! too: see [`super::leak`].

use std::borrow::Cow;

use super::leak::finds;

/// Replaces a credential.
const TAKEN: &str = "…";

/// Replaces all recognizable credentials in a text.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let finds = finds(text);
    if finds.is_empty() {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len());
    let mut end = 0;
    for find in finds {
        clean.push_str(&text[end..find.range.start]);
        clean.push_str(TAKEN);
        end = find.range.end;
    }
    clean.push_str(&text[end..]);
    clean.into()
}

#[cfg(test)]
mod tests {
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
            (&format!("a {key} b"), "a … b"),
            (&key[..40], "…"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
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
