//! Shortens and redacts others' text; reads the user's files without quoting secrets.

use evidence::{lenient::without_values, redact::without_credentials};
use serde::de::DeserializeOwned;

/// Makes one redacted line of a text, of at most `longest` characters.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    cut(without_credentials(text).replace(['\n', '\r'], " "), longest)
}

/// Cuts a text after `longest` characters.
pub(crate) fn cut(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What is wrong with a file, in one line. Quotes none of it, and so keeps no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MalformedFile(String);

/// Reads a file's YAML or JSON in which credentials may stand.
///
/// # Errors
/// When it does not parse.
pub(crate) fn read_quietly<T: DeserializeOwned>(text: &str) -> Result<T, MalformedFile> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| MalformedFile(without_values(&error.to_string()).replace('\n', " ")))
}
