//! How findings show text of the hub, and which of it says nothing.

use crate::evidence::redact::without_credentials;

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
        let token = format!("eyJhbGciOiJub25lIn0.{}.x", "a".repeat(300));
        assert_eq!(shown(&token), "…");
    }
}
