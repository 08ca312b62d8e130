//! Reading a submitted report.

use std::{fs, path::Path};

use anyhow::{Context, anyhow};
use report::submitted::{Document, ReadError};

use crate::command::Failure;

/// More than a report of a thousand shards needs.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Reads a report from a file.
pub(super) fn read(path: &Path) -> Result<Document, Failure> {
    let failed = || format!("failed to read the report {}", path.display());
    let size = fs::metadata(path)
        .with_context(failed)
        .map_err(Failure::usage)?
        .len();
    if size > LARGEST {
        return Err(Failure::usage(
            anyhow!("it has {size} bytes, and no report has more than {LARGEST}: is it the evidence?")
                .context(failed()),
        ));
    }
    let bytes = fs::read(path).with_context(failed).map_err(Failure::usage)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(anyhow!("it is no text: is it the evidence?").context(failed())))?;
    Document::parse(&text).map_err(|error| {
        let error = match error {
            ReadError::Other => anyhow!("{error}: write one with `run --report FILE`"),
            error => error.into(),
        };
        Failure::usage(error.context(failed()))
    })
}
