//! `replay`: judge recorded evidence again.

use std::path::PathBuf;

use clap::Args;

use super::command::{File, from_file};
use crate::command::{
    config::ConfigFlags,
    flags::{
        claim::ClaimFlags, input::InputFlags, output::OutputFlags, scope::ScopeFlags,
        selection::SelectionFlags,
    },
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Judge an evidence file again; the same as `run --from`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 conformant, or no violation found, 1 not conformant, 2 bad usage or a file that cannot be used, \
                  3 inconclusive, or (--complete) not all MUST rules judged, 4 could not write a report."
)]
pub struct Replay {
    /// The evidence file, or a kubectl dump
    evidence: PathBuf,
    #[command(flatten)]
    selection: SelectionFlags,
    #[command(flatten)]
    pub config: ConfigFlags,
    #[command(flatten)]
    scope: ScopeFlags,
    #[command(flatten)]
    pub claim: ClaimFlags,
    #[command(flatten)]
    outputs: OutputFlags,
    #[command(flatten)]
    input: InputFlags,
}

impl Replay {
    /// Judges it.
    ///
    /// # Errors
    /// When the file cannot be used, or a report cannot be written.
    pub fn execute(self) -> Result<Exit, Failure> {
        if let Some(shown) = &self.config.printed {
            return print(shown).map(|()| Exit::Success);
        }
        from_file(
            File {
                path: &self.evidence,
                audit_logs: &[],
                input: self.input,
            },
            self.selection,
            &self.scope,
            &self.claim,
            &self.outputs,
            &self.config,
        )
    }
}
