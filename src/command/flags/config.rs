//! The flags that name the file.

use std::path::{Path, PathBuf};

use clap::Args;

/// Which configuration file to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// Read flags from this file, such as conformance.yaml; the command line wins. There is no default file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the effective configuration as such a file, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
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
