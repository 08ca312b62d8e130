//! The flags that name the file.

use std::path::{Path, PathBuf};

use clap::Args;

/// Which configuration file to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// Read flags from this file, such as conformance.yaml; those on the command line win. No file is read without this
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print what the flags and the file of --config come to, as such a file, and do nothing
    #[arg(long)]
    pub(super) print_config: bool,
    /// What to print.
    #[arg(skip)]
    pub shown: Option<String>,
}

impl ConfigFlags {
    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}
