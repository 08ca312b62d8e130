//! The flag that bounds what is read from files of others.

use clap::Args;
use evidence::Limits;

use super::size::Size;

/// How much is read.
#[derive(Clone, Copy, Debug, Args)]
pub struct InputFlags {
    /// Refuse a file with more than this, unpacked; the files of a dump's folder count as one
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
