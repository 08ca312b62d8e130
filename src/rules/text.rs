//! How findings show text of the hub, and the syntax of label values.

use std::borrow::Cow;

/// What a finding shows for a field that is not there.
pub(super) const ABSENT: &str = "(absent)";

/// How many characters of the hub's text a finding shows.
const SHOWN: usize = 200;

/// Text of the hub for a finding: as it is, but without credentials in URLs, and cut when it is long.
pub(super) fn shown(text: &str) -> String {
    let text = without_userinfo(text);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.into_owned(),
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
            Some((_, host)) => clean.extend(["…@", host]),
            None => clean.push_str(authority),
        }
        clean.push_str(rest);
    }
    clean.into()
}

/// The same for a field that may be absent.
pub(super) fn shown_or_absent(text: Option<&str>) -> String {
    text.map_or_else(|| ABSENT.to_owned(), shown)
}

/// Whether the hub would take it as a label's value: at most 63 letters, digits, `-`, `_` and `.`, a letter or
/// digit at both ends, or nothing at all.
pub(super) fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            bytes.len() <= 63
                && first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes.iter().all(inside)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shown("short"), "short");
        let long = "é".repeat(201);
        assert_eq!(shown(&long), format!("{}… (201 characters)", "é".repeat(200)));
        assert_eq!(shown_or_absent(None), "(absent)");
    }

    #[test]
    fn credentials_in_urls_are_not_shown() {
        assert_eq!(shown("https://user:secret@a:1/x@y"), "https://…@a:1/x@y");
        assert_eq!(
            shown(r#"["https://s3cret@a","https:\/\/b","//u:p@q@c"]"#),
            r#"["https://…@a","https:\/\/b","//…@c"]"#
        );
        assert_eq!(shown("oidc:alice@example.com"), "oidc:alice@example.com");
    }

    #[test]
    fn label_values_are_what_the_hub_takes() {
        for good in ["", "a", "A-b_c.9", &"x".repeat(63)] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in [" ", "a b", "-a", "a-", "a/b", "é", ".", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }
}
