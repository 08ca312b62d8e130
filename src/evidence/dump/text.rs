//! The text of a dump, and the parsers' options and messages.

use serde_saphyr::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Options};

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
pub(super) fn options() -> Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        // The default, stated because any other changes values.
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
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
