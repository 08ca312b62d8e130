//! How findings show text of the hub, and which of it says nothing.

use std::borrow::Cow;

use evidence::redact::without_credentials;

/// What a finding shows for a field that is not there.
pub(super) const ABSENT: &str = "(absent)";

/// How many characters of the hub's text a finding shows.
const SHOWN: usize = 200;

/// How many characters a part of a finding has at most, several values of the hub included.
const TOLD: usize = 2000;

/// Values that stand where none is known, in lower case.
const PLACEHOLDERS: [&str; 8] = [
    "",
    "-",
    "00000000-0000-0000-0000-000000000000",
    "n/a",
    "none",
    "null",
    "undefined",
    "unknown",
];

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

/// The same for a part of a text. Where the text holds a credential, the part may be a piece of it that
/// nobody could tell by itself, so that the text is shown in its place.
pub(super) fn shown_part(part: &str, text: &str) -> String {
    match holds_credential(text) {
        true => shown(text),
        false => shown(part),
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

/// Whether a value only holds the place of one that is not known.
pub(super) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS
        .iter()
        .any(|placeholder| placeholder.eq_ignore_ascii_case(value))
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
        assert_eq!(shown_part("b", "a, b"), "b");
        let token = format!("eyJhbGciOiJub25lIn0.{}.x", "a".repeat(300));
        assert_eq!(shown(&token), "…");
    }
}
