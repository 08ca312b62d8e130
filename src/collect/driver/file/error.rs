//! What is wrong with a driver file, where, and what to do.

use std::path::{Path, PathBuf};

use serde_saphyr::Error;

use crate::api::UnknownName;

/// Why a driver file cannot be used. No message quotes a value: it may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum DriverFileError {
    /// It cannot be read.
    #[error("failed to read the driver file {}: {cause}", path.display())]
    Read {
        /// The file, as it was given.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// It says something that cannot be.
    #[error("the driver file {} cannot be used: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What cannot be, where, and what to do.
        message: String,
    },
}

impl DriverFileError {
    /// The parser's error, without the text that it quotes.
    pub(super) fn unreadable(path: &Path, error: &Error) -> Self {
        let error = error.without_snippet();
        let place = error
            .location()
            .filter(|place| place.line() > 0)
            .map(|place| format!("line {}, column {}: ", place.line(), place.column()))
            .unwrap_or_default();
        DriverFileError::Wrong {
            path: path.to_owned(),
            message: format!("{place}{}", told(error)),
        }
    }
}

fn told(error: &Error) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => unknown("action", variant, expected),
        Error::SerdeMissingField { field, .. } => format!("`{field}` is missing"),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` stands there twice"),
        Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. } => {
            format!("here should be {expected}")
        }
        // Our own words.
        Error::Message { msg, .. } => msg.clone(),
        _ => "this is not the YAML that was expected here".to_owned(),
    }
}

/// A slip gets the nearest name, anything else all of them.
fn unknown(what: &'static str, given: &str, known: &[&'static str]) -> String {
    let error = UnknownName::among(what, given, known.iter().copied());
    match error.nearest {
        Some(_) => error.to_string(),
        None => format!("{error}: there are {}", known.join(", ")),
    }
}
