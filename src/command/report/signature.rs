//! The signature of a report: a file of its own, beside the report.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Context;
use evidence::{Limits, read_bounded};
use report::{
    signed::{LARGEST_ENVELOPE, NamedKey, NotVouched, Subject, Vouched, vouched},
    submitted::Document,
};

use crate::command::terminal::exit::Failure;

/// How the name of a signature ends, after that of the report.
pub(super) const SUFFIX: &str = ".intoto.json";

/// Returns the default path of a report's signature.
pub(super) fn beside(report: &Path) -> PathBuf {
    let mut path = OsString::from(report);
    path.push(SUFFIX);
    path.into()
}

/// What signatures know evidence files by.
pub(super) fn subjects(files: &[PathBuf], limits: &Limits) -> Result<Vec<Subject>, Failure> {
    let subject = |path: &PathBuf| {
        let failed = || format!("failed to read the evidence {}", path.display());
        Subject::read(path, limits.whole)
            .with_context(failed)
            .map_err(Failure::usage)
    };
    files.iter().map(subject).collect()
}

/// Verifies the signature of a report by any of the keys.
///
/// # Errors
/// When the file is no signature of a report. One that does not hold is no error of this kind.
pub(super) fn verify(
    path: &Path,
    keys: &[NamedKey],
    (document, report): (&Document, &Subject),
    evidence: &[Subject],
) -> Result<Result<Vouched, NotVouched>, Failure> {
    let failed = || format!("failed to read the signature {}", path.display());
    let envelope = read_bounded(path, LARGEST_ENVELOPE)
        .with_context(failed)
        .map_err(Failure::usage)?;
    match vouched(&envelope, keys, document, report, evidence) {
        Err(error) if error.is_unusable() => Err(Failure::usage(anyhow::Error::new(error).context(failed()))),
        outcome => Ok(outcome),
    }
}
