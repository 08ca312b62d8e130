//! The report as a YAML file: read strictly, written deterministically, safe in editors and on terminals.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    diff::{Change, changes},
    document::{Document, KIND},
};
use crate::{formats::json::API_VERSION, text::escape};

/// Longer text is cut, so that one text cannot bury a report.
const LONGEST: usize = 2_000;
/// The length of what is left: with the note about the cut, it is at most [`LONGEST`].
const LEFT: usize = 1_900;

/// Why a file cannot be used as a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is another file.
    #[error(
        "it is not a report of this suite, which begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
    )]
    Other,
    /// It has another shape; why, and what to do.
    #[error("{0}")]
    Shape(String),
}

/// What identifies a file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    #[serde(default)]
    suite_version: String,
}

impl Document {
    /// Reads a report.
    ///
    /// # Errors
    /// When it is not a report, or has keys or values that a report does not have.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let head: Head = yaml(text).map_err(|_| ReadError::Other)?;
        if head.api_version != API_VERSION || head.kind != KIND {
            return Err(ReadError::Other);
        }
        let own = env!("CARGO_PKG_VERSION");
        let refused = |reason: String| {
            ReadError::Shape(match &*head.suite_version {
                "" => format!("{reason}: submit the report as the suite wrote it"),
                wrote if wrote == own => format!("{reason}: submit the report as the suite wrote it"),
                wrote => {
                    format!("{reason}: it is by suite {wrote}, and this is {own}: read it with that suite")
                }
            })
        };
        let document: Self = yaml(text).map_err(|error| refused(error.to_string()))?;
        let written: Value = yaml(text).map_err(|error| refused(error.to_string()))?;
        let is_unknown = |change: &&Change| change.new.is_none() && change.old != Some(Value::Null);
        match changes(&written, &document).iter().find(is_unknown) {
            Some(change) => Err(refused(format!("unknown field {}", shown(&change.at)))),
            None => Ok(document.public()),
        }
    }

    /// Writes it: the same report gives the same bytes. Fails only if `into` does.
    pub fn write(&self, into: impl io::Write) -> io::Result<()> {
        to_yaml(self, into)
    }

    /// The report with every text escaped and shortened. It is idempotent.
    pub(super) fn public(&self) -> Self {
        let mut value = serde_json::to_value(self).expect("the document has a shape in JSON");
        clean(&mut value);
        // No field whose form matters can hold invisible characters.
        serde_json::from_value(value).unwrap_or_else(|_| self.clone())
    }
}

fn yaml<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options)
}

/// Writes a value in block style.
pub(super) fn to_yaml(value: &impl Serialize, mut into: impl io::Write) -> io::Result<()> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(value, options).map_err(io::Error::other)?;
    into.write_all(text.as_bytes())
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown(text),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(key, mut value)| {
                clean(&mut value);
                (shown(&key), value)
            }));
        }
        _ => {}
    }
}

/// Escapes and shortens a text.
pub(super) fn shown(text: &str) -> String {
    let line = escape::short(text, usize::MAX);
    let long = line.chars().count();
    if long <= LONGEST {
        return line.into_owned();
    }
    let start: String = line.chars().take(LEFT).collect();
    format!("{start} … {} more characters", long - LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn public_text_stays_as_it_is(text in "\\PC{0,40}|.{0,40}", times in 1usize..200) {
            let once = shown(&text.repeat(times));
            assert!(!once.chars().any(escape::is_hidden));
            assert!(once.chars().count() <= LONGEST);
            assert_eq!(shown(&once), once);
        }
    }
}
