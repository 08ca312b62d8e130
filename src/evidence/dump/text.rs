//! Splits a file into documents.

use serde_saphyr::{DuplicateKeyPolicy, Options};

use super::{DumpError, item::Place};
use crate::lenient::masked;

/// A file as text.
pub(super) struct Text {
    text: String,
    /// The offsets of bytes that are not UTF-8, in order.
    spoilt: Vec<usize>,
}

/// The flaw of a truncated dump.
pub(super) const ENDS_IN_THE_MIDDLE: &str = "it ends in the middle: was the dump cut short?";

/// Some programs put this before text.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// Decodes a file, without its byte order mark. Masks and remembers bytes that are not UTF-8.
///
/// # Errors
/// When it is UTF-16.
pub(super) fn decode(bytes: Vec<u8>, file: &str) -> Result<Text, DumpError> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(DumpError::Encoding {
            file: file.to_owned(),
            line: 1,
            utf16: true,
        });
    }
    let mark = BYTE_ORDER_MARK.len_utf8();
    let bytes = if bytes.starts_with(BYTE_ORDER_MARK.encode_utf8(&mut [0; 4]).as_bytes()) {
        bytes[mark..].to_vec()
    } else {
        bytes
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => {
            return Ok(Text {
                text,
                spoilt: Vec::new(),
            });
        }
        Err(error) => error.into_bytes(),
    };
    let (mut at, mut spoilt) = (0, Vec::new());
    for chunk in text.utf8_chunks() {
        at += chunk.valid().len();
        spoilt.extend(at..at + chunk.invalid().len());
        at += chunk.invalid().len();
    }
    Ok(Text {
        text: masked(&text).into_owned(),
        spoilt,
    })
}

impl Text {
    /// Returns `true` if it is blank.
    pub fn is_empty(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }
}

/// The documents of a file with their places, without blank ones.
///
/// A line of `---`, alone or before white space, always begins a document: YAML forbids it in scalars, and JSON strings
/// have no line breaks.
pub(super) fn documents<'a>(text: &'a Text, file: &'a str) -> Vec<Place<'a>> {
    let Text { text, spoilt } = text;
    let mut documents = Vec::new();
    let mut start = 0;
    for (mark, _) in text.match_indices("---") {
        // Concatenated files may have kept their byte order marks.
        let before = text[..mark].trim_end_matches(BYTE_ORDER_MARK);
        let begins_line = before.is_empty() || before.ends_with('\n');
        let after = mark + "---".len();
        if begins_line && text[after..].chars().next().is_none_or(char::is_whitespace) {
            documents.push((start, mark));
            start = after;
        }
    }
    documents.push((start, text.len()));
    let without_mark = |(start, end): (usize, usize)| {
        let document = &text[start..end];
        let rest = document.trim_start().trim_start_matches(BYTE_ORDER_MARK);
        let had_mark = rest.len() < document.trim_start().len();
        (if had_mark { end - rest.len() } else { start }, end)
    };
    documents
        .into_iter()
        .map(without_mark)
        .filter(|(start, end)| !is_blank(&text[*start..*end]))
        .map(|(start, end)| Place {
            file,
            text,
            spoilt,
            start,
            end,
        })
        .collect()
}

/// Returns `true` if it only holds comments, directives and document ends.
fn is_blank(document: &str) -> bool {
    let mut lines = document.lines().map(str::trim_end);
    lines.all(|line| {
        line.is_empty() || line == "..." || line.starts_with('%') || line.trim_start().starts_with('#')
    })
}

/// Removes the place at the end of a parser's message: it counts from the document's start.
pub(super) fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |at| &message[..at])
}

/// Reads YAML like kubectl: `yes` and `on` are text. The size is unbounded, as the file is the user's own; depth and
/// aliases are bounded.
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
