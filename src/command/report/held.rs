//! Reading the evidence of a submitted report.

use std::path::Path;

use anyhow::{Context, anyhow};
use evidence::{Checksum, Limits};
use report::submitted::Held;

use crate::command::{
    flags::input::read_untimed,
    terminal::{advice, exit::Failure},
};

/// Reads an evidence file, within the limits.
pub(super) fn held(path: &Path, limits: &Limits) -> Result<Held, Failure> {
    let sum = Checksum::of_file_bounded(path, limits)
        .map_err(|error| {
            let advice = advice::too_large(Checksum::limit(&error));
            anyhow!("{error}{advice}")
        })
        .with_context(|| format!("failed to read the evidence {}", path.display()))
        .map_err(Failure::usage)?
        .ok_or_else(|| {
            Failure::usage(anyhow!(
                "{} is no file: name the file that `run --record` wrote",
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
