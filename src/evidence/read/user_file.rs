//! Reads YAML: files that users write, and those that are compiled in. An error in a user's file names the place of the error
//! and quotes no value: any of them may be a secret.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::Error;

use crate::api::UnknownName;

/// What is wrong with a file that a user wrote, and where. Quotes no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default())]
pub struct UserFileError {
    /// The line and the column, from 1, where they are known.
    place: Option<(u64, u64)>,
    message: String,
}

/// Reads YAML or JSON. Only `true` and `false` are booleans, and no key may be repeated.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, UserFileError> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| UserFileError::new(&error, "name"))
}

/// Reads YAML that is compiled in. By way of a JSON value: code that reads a type from YAML itself is large, and only
/// files of users need its places in errors.
///
/// # Errors
/// A message that says what is wrong.
pub fn read_compiled_in<T: DeserializeOwned>(yaml: &str) -> Result<T, String> {
    let value: Value = read(yaml).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

impl UserFileError {
    /// The parser's error without what it quotes. `variant` says what the names of a choice are, for example `action`.
    pub fn new(error: &Error, variant: &'static str) -> Self {
        let error = error.without_snippet();
        let place = error.location().filter(|place| place.line() > 0);
        let message = match error {
            Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
            Error::SerdeUnknownVariant {
                variant: given,
                expected,
                ..
            } => unknown(variant, given, expected),
            Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
            Error::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` is given twice"),
            Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. } => {
                format!("expected {expected}")
            }
            Error::Unexpected {
                expected: "sequence start",
                ..
            } => "expected a list".to_owned(),
            Error::Unexpected {
                expected: "string scalar",
                ..
            } => "expected a string".to_owned(),
            // The message of a `Deserialize` of the suite.
            Error::Message { msg, .. } => msg.clone(),
            _ => "this is not the YAML that was expected here".to_owned(),
        };
        Self {
            place: place.map(|place| (place.line(), place.column())),
            message,
        }
    }
}

/// A typo gets the nearest name, anything else all of them.
fn unknown(what: &'static str, input: &str, names: &[&'static str]) -> String {
    let name = UnknownName::among(what, input, names.iter().copied());
    match name.nearest {
        Some(_) => name.to_string(),
        None => format!("{name}: choose one of {}", names.join(", ")),
    }
}
