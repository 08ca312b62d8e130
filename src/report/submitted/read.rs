//! The report as a YAML file: read strictly, written deterministically.

use std::io;

use serde::Deserialize;

use super::document::{Document, KIND};
use crate::formats::json::API_VERSION;

/// Why a file cannot be used as a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no report.
    #[error(
        "it is no report of this suite, which begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
    )]
    Other,
    /// It has another shape.
    #[error("{0}: submit the report as the suite wrote it")]
    Shape(#[source] Box<serde_saphyr::Error>),
    /// It has the shape of another version.
    #[error("{flaw}: it is by suite {version}, and this is {}: read it with that one", env!("CARGO_PKG_VERSION"))]
    Version {
        /// What this version cannot read.
        #[source]
        flaw: Box<serde_saphyr::Error>,
        /// The version that wrote it.
        version: String,
    },
}

/// What tells the kind of a file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    suite_version: Option<String>,
}

impl Document {
    /// Reads a report.
    ///
    /// # Errors
    /// When it is none, or has keys or values that a report does not have.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let head: Head = yaml(text).map_err(|_| ReadError::Other)?;
        if head.api_version != API_VERSION || head.kind != KIND {
            return Err(ReadError::Other);
        }
        let document: Self = yaml(text).map_err(|flaw| match head.suite_version {
            Some(version) if version != env!("CARGO_PKG_VERSION") => ReadError::Version { flaw, version },
            _ => ReadError::Shape(flaw),
        })?;
        Ok(document.made_public())
    }

    /// Writes it: the same report gives the same bytes. Fails only if `into` does.
    pub fn write(&self, into: impl io::Write) -> io::Result<()> {
        to_yaml(self, into)
    }
}

fn yaml<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Box<serde_saphyr::Error>> {
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(Box::new)
}

/// Writes a value in block style.
pub(super) fn to_yaml(value: &impl serde::Serialize, mut into: impl io::Write) -> io::Result<()> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(value, options).map_err(io::Error::other)?;
    into.write_all(text.as_bytes())
}
