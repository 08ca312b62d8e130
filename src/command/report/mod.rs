//! `report`: what can be done with reports that are submitted.

mod diff;
mod merge;
mod verify;

use std::{fs, path::Path};

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use report::submitted::Document;

use super::{Exit, Failure};

/// Verify, compare and merge reports that were written with `run --report`
#[derive(Debug, Args)]
pub struct Report {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(verify::Verify),
    Diff(diff::Diff),
    Merge(merge::Merge),
}

impl Report {
    /// Carries out the command.
    ///
    /// # Errors
    /// When it could not be carried out.
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Verify(verify) => verify.execute(),
            Command::Diff(diff) => diff.execute(),
            Command::Merge(merge) => merge.execute(),
        }
    }
}

/// More than a report of a thousand shards has; less than would fill a machine.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Reads a report from a file.
fn read(path: &Path) -> Result<Document, Failure> {
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
    Document::parse(&text)
        .with_context(failed)
        .map_err(Failure::usage)
}
