//! Files that users write: what is wrong with them is told with its place, and without quoting values, any of which may
//! be a secret.

use serde::de::DeserializeOwned;
use serde_saphyr::Error;

use crate::api::UnknownName;

/// Reads YAML or JSON. Only `true` and `false` are booleans, and no key may stand twice.
///
/// # Errors
/// What is wrong with it, in one line that begins with its place.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| flaw(&error, "name"))
}

/// What is wrong, where. `variant` is what a name is one of that must be among some, such as `action`.
pub fn flaw(error: &Error, variant: &'static str) -> String {
    let error = error.without_snippet();
    let place = error
        .location()
        .filter(|place| place.line() > 0)
        .map(|place| format!("line {}, column {}: ", place.line(), place.column()))
        .unwrap_or_default();
    format!("{place}{}", told(error, variant))
}

fn told(error: &Error, variant: &'static str) -> String {
    match error {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant {
            variant: given,
            expected,
            ..
        } => unknown(variant, given, expected),
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
