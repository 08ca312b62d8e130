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

impl InputFlags {
    /// The limits on a file.
    pub fn limits(&self) -> Limits {
        Limits {
            whole: self.max_input.0,
            ..Limits::default()
        }
    }
}
