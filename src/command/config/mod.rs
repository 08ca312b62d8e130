//! The configuration file: every flag of `run` as a key, and who made the implementation.
//!
//! What it says becomes flags in front of those of the command line, so that whatever holds for flags (their values, what
//! excludes what) holds for it, and no flag can be forgotten. What the command line says wins.

mod file;
mod keys;
mod merge;
mod schema;
mod show;

use std::path::{Path, PathBuf};

use clap::Args;
pub use merge::merged;
pub use schema::schema;

/// What the file says first.
const API_VERSION: &str = "conformance.clusterprofile/v1";
const KIND: &str = "Configuration";
/// The key that is no flag.
const IMPLEMENTATION: &str = "implementation";

/// Which configuration file to read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigFlags {
    /// Read flags from this file, such as conformance.yaml; those on the command line win. No file is read without this
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print what the flags and the file of --config come to, as such a file, and do nothing
    #[arg(long)]
    print_config: bool,
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
