//! `--waivers`: read before the run, applied on the day of judging.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use evidence::{LARGEST_TEXT, read_text};
use judge::Waivers;

use crate::command::terminal::exit::Failure;

/// Reads the file, where one is named.
///
/// # Errors
/// When it cannot be read or is invalid.
pub fn read(path: Option<&Path>) -> Result<Option<Waivers>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let text = text("waivers", path)?;
    let waivers = Waivers::parse(&text)
        .map_err(|error| Failure::usage(anyhow!("the waivers {} cannot be used: {error}", path.display())))?;
    Ok(Some(waivers))
}

/// Reads a file that affects verdicts. It has to have a name, so that errors can quote it.
///
/// # Errors
/// When it cannot be read.
pub fn text(what: &str, path: &Path) -> Result<String, Failure> {
    if path == Path::new("-") {
        return Err(Failure::usage(anyhow!(
            "the {what} cannot come from standard input: name a file"
        )));
    }
    read_text(path, LARGEST_TEXT)
        .with_context(|| format!("failed to read the {what} {}", path.display()))
        .map_err(Failure::usage)
}
