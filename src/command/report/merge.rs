//! `report merge`: join partial reports of one implementation.

use std::{io, path::PathBuf};

use anyhow::anyhow;
use clap::Args;
use report::{
    Output,
    submitted::{Document, disagreements, merge, write_matrix_of},
};

use super::read::read;
use crate::command::{Exit, Failure, output::ReportFormat, print::print};

/// Join partial reports of one implementation, split by rules, by namespaces or by manager
#[derive(Debug, Args)]
#[command(
    after_help = "For each rule, the gravest verdict counts: fail, inconclusive, waived, warn, pass, \
                        not-applicable, skipped. A single report stays as it is, so \
                        --report-format can convert it.\n\nExit codes: 0 merged, whatever the decision; 2 the reports cannot be merged."
)]
pub struct Merge {
    /// The reports
    #[arg(required = true, value_name = "REPORT")]
    shards: Vec<PathBuf>,
    /// Where to write the merged report; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The shape of the merged report
    #[arg(long, value_enum, default_value_t)]
    report_format: ReportFormat,
}

impl Merge {
    /// Merges.
    ///
    /// # Errors
    /// When a file cannot be used, or the reports do not belong together.
    pub fn execute(self) -> Result<Exit, Failure> {
        let documents = self
            .shards
            .iter()
            .map(|path| read(path))
            .collect::<Result<Vec<_>, _>>()?;
        let merged = merge(documents).map_err(Failure::usage)?;
        for disagreement in disagreements(&merged) {
            anstream::eprintln!("note: {disagreement}");
        }
        let mut bytes = Vec::new();
        self.put(&merged, &mut bytes)?.map_err(Failure::could_not_run)?;
        if self.output.to_str() == Some("-") {
            let text = String::from_utf8(bytes)
                .map_err(|_| Failure::could_not_run(anyhow!("the report is no text")))?;
            print(&text)?;
        } else {
            let output = Output::open("--output", self.output).map_err(Failure::usage)?;
            let written = output.write(|into| into.write_all(&bytes));
            written.map_err(Failure::could_not_run)?;
        }
        Ok(Exit::Success)
    }

    fn put(&self, merged: &Document, into: impl io::Write) -> Result<io::Result<()>, Failure> {
        match self.report_format {
            ReportFormat::Clusterprofile => Ok(merged.write(into)),
            ReportFormat::SigMulticluster => write_matrix_of(merged, into).map_err(Failure::usage),
        }
    }
}
