//! Reads files that users write. An error names the place of a flaw and quotes no value: any of them may be a secret.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;

use crate::api::UnknownName;

/// What is wrong with a file that a user wrote, and where. Quotes no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{flaw}", place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default())]
pub struct UserFileError {
    /// The line and the column, from 1, where they are known.
    pub place: Option<(u64, u64)>,
    /// What is wrong there.
    #[source]
    pub flaw: UserFileFlaw,
}

/// What may be wrong in a file that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserFileFlaw {
    /// A key or a name is unknown. A slip gets the nearest name, anything else all of them.
    #[error("{name}{}", if name.nearest.is_some() { String::new() } else { format!(": choose one of {}", known.join(", ")) })]
    Unknown {
        /// The name, and the nearest known one.
        #[source]
        name: UnknownName,
        /// All known names.
        known: Vec<&'static str>,
    },
    /// A required key is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key is given twice.
    #[error("`{0}` is given twice")]
    Repeated(String),
    /// A value has another type than it should.
    #[error("expected {0}")]
    Type(String),
    /// A value breaks a rule of its own, which the message states.
    #[error("{0}")]
    Value(String),
    /// The text is not YAML, or has another shape.
    #[error("this is not the YAML that was expected here")]
    Shape,
}

/// Reads YAML or JSON. Only `true` and `false` are booleans, and no key may be repeated.
///
/// # Errors
/// When the text cannot be read as a `T`.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, UserFileError> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| UserFileError::new(&error, "name"))
}

impl UserFileError {
    /// The parser's error without what it quotes. `variant` says what the names of a choice are, such as `action`.
    pub fn new(error: &Error, variant: &'static str) -> Self {
        let error = error.without_snippet();
        let place = error.location().filter(|place| place.line() > 0);
        Self {
            place: place.map(|place| (place.line(), place.column())),
            flaw: UserFileFlaw::new(error, variant),
        }
    }
}

impl UserFileFlaw {
    fn new(error: &Error, variant: &'static str) -> Self {
        let unknown = |what, given: &str, known: &[&'static str]| UserFileFlaw::Unknown {
            name: UnknownName::among(what, given, known.iter().copied()),
            known: known.to_vec(),
        };
        match error {
            Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
            Error::SerdeUnknownVariant {
                variant: given,
                expected,
                ..
            } => unknown(variant, given, expected),
            Error::SerdeMissingField { field, .. } => UserFileFlaw::Missing(field),
            Error::DuplicateMappingKey { key: Some(key), .. } => UserFileFlaw::Repeated(key.clone()),
            Error::SerdeInvalidType { expected, .. } | Error::SerdeInvalidValue { expected, .. } => {
                UserFileFlaw::Type(expected.clone())
            }
            // The suite's own words, from a `Deserialize` of its own.
            Error::Message { msg, .. } => UserFileFlaw::Value(msg.clone()),
            _ => UserFileFlaw::Shape,
        }
    }
}
