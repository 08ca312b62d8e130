//! How findings show text of the hub, and the syntax of label values.

use std::borrow::Cow;

use crate::evidence::redact::without_credentials;

/// What a finding shows for a field that is not there.
pub(super) const ABSENT: &str = "(absent)";

/// How many characters of the hub's text a finding shows.
const SHOWN: usize = 200;

/// How many characters a part of a finding has at most, several values of the hub included.
const TOLD: usize = 2000;

/// Text of the hub for a finding: as it is, but without credentials, and cut when it is long.
pub(super) fn shown(text: &str) -> String {
    cut(text, SHOWN)
}

/// The same for a whole part of a finding, whatever its rule has made of the hub's text.
pub(super) fn told(text: &str) -> String {
    cut(text, TOLD)
}

fn cut(text: &str, longest: usize) -> String {
    let text = without_credentials(text);
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.into_owned(),
    }
}

/// The same for an address: what stands before an `@` is a credential, with or without a scheme before it.
pub(super) fn shown_address(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, host)) if !text.contains("//") => shown(&format!("…@{host}")),
        _ => shown(text),
    }
}

/// The same for an address that is part of a text. Where the text holds a credential, the part may be a piece of it that
/// nobody could tell by itself, so that the text is shown in its place.
pub(super) fn shown_part(address: &str, text: &str) -> String {
    match holds_credential(text) {
        true => shown(text),
        false => shown_address(address),
    }
}

/// Whether a text holds what may be a credential.
pub(super) fn holds_credential(text: &str) -> bool {
    matches!(without_credentials(text), Cow::Owned(_))
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
    fn credentials_are_not_shown() {
        assert_eq!(shown("https://user:secret@a:1/x@y"), "https://…@a:1/x@y");
        assert_eq!(shown_address("https://user:secret@a:1/x@y"), "https://…@a:1/x@y");
        assert_eq!(shown_address("user:secret@a:1"), "…@a:1");
        let words = "a.example, Bearer 0123456789abcdef0123";
        assert_eq!(shown_part("0123456789abcdef0123", words), "a.example, …");
        assert_eq!(shown_part("u:p@b", "a, u:p@b"), "…@b");
        let token = format!("eyJhbGciOiJub25lIn0.{}.x", "a".repeat(300));
        assert_eq!(shown(&token), "…");
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
