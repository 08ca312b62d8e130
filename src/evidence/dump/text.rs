//! From bytes to documents.

use super::{DumpError, item::Place};

/// The file as text, without a byte order mark.
///
/// # Errors
/// When it is no UTF-8.
pub(super) fn decode(bytes: Vec<u8>, file: &str) -> Result<String, DumpError> {
    let utf16 = bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]);
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        DumpError::Encoding {
            file: file.to_owned(),
            line: good.iter().filter(|byte| **byte == b'\n').count() + 1,
            utf16,
        }
    })?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(text)
}

/// The documents of a file, each at its place; blank ones are left out.
///
/// A line of `---`, alone or before white space, begins a document wherever it stands: YAML forbids it within any
/// scalar, and JSON has no line breaks in strings.
pub(super) fn documents<'a>(text: &'a str, file: &'a str) -> Vec<Place<'a>> {
    let mut documents = Vec::new();
    let mut start = 0;
    for (mark, _) in text.match_indices("---") {
        let begins_line = mark == 0 || text.as_bytes()[mark - 1] == b'\n';
        let after = mark + "---".len();
        if begins_line && text[after..].chars().next().is_none_or(char::is_whitespace) {
            documents.push((start, mark));
            start = after;
        }
    }
    documents.push((start, text.len()));
    documents
        .into_iter()
        .filter(|(start, end)| !is_blank(&text[*start..*end]))
        .map(|(start, end)| Place {
            file,
            text,
            start,
            end,
        })
        .collect()
}

/// Whether there are only comments, directives and ends of documents in it.
fn is_blank(document: &str) -> bool {
    let mut lines = document.lines().map(str::trim_end);
    lines.all(|line| {
        line.is_empty() || line == "..." || line.starts_with('%') || line.trim_start().starts_with('#')
    })
}

/// A parser's message without the place at its end, which counts from the document's beginning.
pub(super) fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |at| &message[..at])
}
