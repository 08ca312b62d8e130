//! `replay`: judge recorded evidence again.

use std::path::PathBuf;

use clap::Args;

use super::{
    Exit, Failure, claim::ClaimFlags, output::OutputFlags, run::from_file, scope::ScopeFlags,
    selection::SelectionFlags,
};

/// Judge a recorded evidence file again; the same as `run --from`
#[derive(Debug, Args)]
pub struct Replay {
    /// The evidence file, or a kubectl dump
    evidence: PathBuf,
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    scope: ScopeFlags,
    #[command(flatten)]
    claim: ClaimFlags,
    #[command(flatten)]
    outputs: OutputFlags,
}

impl Replay {
    /// Judges it.
    ///
    /// # Errors
    /// When the file cannot be used, or a report cannot be written.
    pub fn execute(self) -> Result<Exit, Failure> {
        from_file(
            &self.evidence,
            &[],
            self.selection,
            &self.scope,
            &self.claim,
            &self.outputs,
        )
    }
}
