//! Reads a submitted report and its evidence.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use anyhow::{Context, anyhow};
use evidence::{Checksum, LimitError, Limits};
use report::submitted::{Document, Held, ReadError};

use crate::command::{
    flags::input::read_untimed,
    terminal::{advice, exit::Failure},
};

/// More than any report needs.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Reads a report from a file, within the limits.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<Document, Failure> {
    let failed = || format!("failed to read the report {}", path.display());
    let largest = LARGEST.min(limits.whole);
    let bytes = beginning(path, largest.saturating_add(1))
        .with_context(failed)
        .map_err(Failure::usage)?;
    if bytes.len() as u64 > largest {
        let error = if largest < LARGEST {
            let limit = LimitError::Whole(largest);
            anyhow!("{limit}{}", advice::too_large(Some(limit)))
        } else {
            anyhow!("it has more than {LARGEST} bytes, and no report does: is it the evidence?")
        };
        return Err(Failure::usage(error.context(failed())));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(
            anyhow!("not UTF-8; did you pass the evidence file instead of the report?").context(failed()),
        )
    })?;
    Document::parse(&text).map_err(|error| {
        let error = match error {
            ReadError::Other => anyhow!("{error}: write one with `run --report FILE`"),
            error => error.into(),
        };
        Failure::usage(error.context(failed()))
    })
}

/// The first bytes of a file, which may have no end.
fn beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads an evidence file, within the limits.
pub(super) fn held(path: &Path, limits: &Limits) -> Result<Held, Failure> {
    let sum = Checksum::of_file(path, limits)
        .map_err(|error| {
            let advice = advice::too_large(Checksum::limit(&error));
            anyhow!("{error}{advice}")
        })
        .with_context(|| format!("failed to read the evidence {}", path.display()))
        .map_err(Failure::usage)?
        .ok_or_else(|| {
            Failure::usage(anyhow!(
                "{} is not a file: name the file that `run --record` wrote",
                path.display()
            ))
        })?;
    // The time of a dump is that of the report.
    let input = read_untimed(path, limits).map_err(Failure::usage)?;
    Ok(Held {
        evidence: input.evidence,
        sum,
    })
}
