//! What others say, made fit to be told; and files that the user wrote, read without quoting what may be secret.

use evidence::{lenient::without_values, redact::without_credentials};
use serde::de::DeserializeOwned;

/// Somebody's words in one line, without credentials and of no more than so many characters.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    cut(without_credentials(text).replace(['\n', '\r'], " "), longest)
}

/// No more than so many characters of a text.
pub(super) fn cut(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Reads a file's YAML or JSON in which credentials may stand.
///
/// # Errors
/// What is wrong with it, in one line; quotes none of it.
pub(super) fn read_quietly<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| without_values(&error.to_string()).replace('\n', " "))
}
