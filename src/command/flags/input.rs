//! Reads evidence files and dumps, with the flag that bounds their size.

use std::path::Path;

use clap::Args;
use collect::clock::Clock;
use evidence::{Input, InputError, Limits, read_input_bounded};

use super::values::Size;
use crate::command::terminal::advice;

/// How much is read.
#[derive(Clone, Copy, Debug, Args)]
pub struct InputFlags {
    /// Refuse larger files, for example 500Mi
    ///
    /// The size is that of the decompressed file; the files of a dump's folder count as one.
    #[arg(long, value_name = "SIZE", default_value_t = InputFlags::default().max_input, help_heading = "Input")]
    max_input: Size,
}

impl Default for InputFlags {
    fn default() -> Self {
        Self {
            max_input: Size(Limits::default().whole),
        }
    }
}

/// The lines that the evidence of a report may always have.
const LEAST_LINES: usize = 10_000;

/// For each so many bytes that may be read of a report's evidence, one line: judging a line takes 6 kB, however short it is.
const BYTES_OF_A_LINE: u64 = 8 << 10;

impl InputFlags {
    /// The limits on a report to be verified, which comes from a stranger, and on its evidence.
    pub fn limits_of_submitted(&self) -> Limits {
        let limits = self.limits();
        let lines = usize::try_from(limits.whole / BYTES_OF_A_LINE).unwrap_or(usize::MAX);
        Limits {
            count: limits.count.min(lines.max(LEAST_LINES)),
            ..limits
        }
    }

    /// The limits on a file.
    pub fn limits(&self) -> Limits {
        Limits {
            whole: self.max_input.0,
            ..Limits::default()
        }
    }
}

/// Reads an evidence file or a dump, and names the flags that collect what a dump lacks.
///
/// # Errors
/// When the file is unreadable, or holds nothing to judge.
pub fn read_evidence(path: &Path, limits: &Limits) -> anyhow::Result<Input> {
    let mut input = read_untimed(path, limits)?;
    let header = &mut input.evidence.header;
    if header.window.is_none() {
        header.read_at.get_or_insert_with(|| Clock::system().now());
    }
    Ok(input)
}

/// Reads an evidence file or a dump, and leaves the time of a dump unset.
///
/// # Errors
/// When the file is unreadable, or holds nothing to judge.
pub fn read_untimed(path: &Path, limits: &Limits) -> anyhow::Result<Input> {
    read_input_bounded(path, &collect::new_digester(), limits).map_err(advised)
}

fn advised(error: InputError) -> anyhow::Error {
    let message = format!("{error}{}", advice::too_large(error.limit()));
    anyhow::Error::new(error).context(message)
}
