//! The text of a dump, and the parsers' options and messages.

use std::borrow::Cow;

use serde_saphyr::{DuplicateKeyPolicy, Options};

use crate::lenient::masked;

/// The flaw of a truncated dump.
pub(super) const ENDS_IN_THE_MIDDLE: &str = "it ends in the middle: was the dump cut short?";

/// Decodes a stretch. Masks bytes that are not UTF-8, and returns their offsets, in order.
pub(super) fn decode(bytes: &[u8]) -> (Cow<'_, str>, Vec<usize>) {
    let text = masked(bytes);
    let mut spoilt = Vec::new();
    if matches!(text, Cow::Owned(_)) {
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            at += chunk.valid().len();
            spoilt.extend(at..at + chunk.invalid().len());
            at += chunk.invalid().len();
        }
    }
    (text, spoilt)
}

/// Returns `true` if it only holds comments, directives and document ends.
pub(super) fn is_blank(document: &str) -> bool {
    let mut lines = document.lines().map(str::trim_end);
    lines.all(|line| {
        line.is_empty() || line == "..." || line.starts_with('%') || line.trim_start().starts_with('#')
    })
}

/// Removes the place at the end of a parser's message: it counts from the document's start.
pub(super) fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |at| &message[..at])
}

/// Reads YAML like kubectl: `yes` and `on` are text. Depth and aliases are bounded here, the size by the limits of
/// the file.
pub(super) fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        // A snippet would show values, which may be secrets.
        with_snippet: false,
        emit_comments: false,
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
        },
    }
}
