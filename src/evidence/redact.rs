//! Takes credentials out of the hub's text, before it is shown or kept as somebody's words.
//!
//! Rules judge what the hub holds as it is; what is told to people must not spread a credential that stands where
//! none should. Only what is unmistakable is taken out: userinfo of URLs, JSON web tokens, bearer tokens and private
//! keys in PEM.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

/// What stands for a credential.
const TAKEN: &str = "…";

static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = [
        // A JSON web token begins with the base64 of `{"`.
        r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?",
        r"(?i:bearer)[ :=]+[A-Za-z0-9._~+/=-]{20,}",
        // To its end, or as much of it as there is.
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?-----END [A-Z0-9 ]*PRIVATE KEY-----|.*)",
    ];
    Regex::new(&patterns.join("|")).expect("constant patterns")
});

/// The text without the credentials that can be told from other text.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    match without_userinfo(text) {
        Cow::Borrowed(text) => CREDENTIALS.replace_all(text, TAKEN),
        Cow::Owned(text) => CREDENTIALS.replace_all(&text, TAKEN).into_owned().into(),
    }
}

/// Takes out what stands before an `@` in the authority of a URL.
fn without_userinfo(text: &str) -> Cow<'_, str> {
    if !text.contains('@') || !text.contains("//") {
        return text.into();
    }
    let mut parts = text.split("//");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\\' | ',');
        let (authority, rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
        clean.push_str("//");
        match authority.rsplit_once('@') {
            Some((_, host)) => clean.extend([TAKEN, "@", host]),
            None => clean.push_str(authority),
        }
        clean.push_str(rest);
    }
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
