//! `report merge`: join partial reports of one implementation, or the evidence of all shares of a fleet.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::Args;
use evidence::file;
use report::{
    Output, escape,
    submitted::{Document, disagreements, merge, write_matrix_of},
};

use super::read::read;
use crate::command::{
    flags::{evidence_files, input::InputFlags, output::ReportFormat},
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Join partial reports of one implementation, or the evidence of all shares of a fleet (`run --shard`)
#[derive(Debug, Args)]
#[command(
    after_help = "Evidence: the shares of one run become one evidence file, which `replay` judges as a whole. A share that is missing \
                        leaves rules inconclusive; two files for one share, or shares of different hubs, editions, claims or \
                        suites are refused.\n\nReports, split by rules, by namespaces or by manager: for each rule, the gravest verdict counts: fail, inconclusive, waived, warn, pass, \
                        not-applicable, skipped. A single report stays as it is, so \
                        --report-format can convert it.\n\nExit codes: 0 merged, whatever the decision; 2 the reports cannot be merged."
)]
pub struct Merge {
    /// The reports, or the evidence files of all shares or their folder
    #[arg(required = true, value_name = "REPORT|EVIDENCE")]
    shards: Vec<PathBuf>,
    /// Where to write the merged report or evidence; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The shape of the merged report
    #[arg(long, value_enum, default_value_t)]
    report_format: ReportFormat,
    #[command(flatten)]
    input: InputFlags,
}

impl Merge {
    /// Merges.
    ///
    /// # Errors
    /// When a file cannot be used, or the files do not belong together.
    pub fn execute(self) -> Result<Exit, Failure> {
        let files = evidence_files::files(&self.shards).map_err(Failure::usage)?;
        if files.first().is_some_and(|file| is_evidence(file)) {
            return self.merge_evidence(&files);
        }
        let limits = self.input.limits();
        let documents = self
            .shards
            .iter()
            .map(|path| read(path, &limits))
            .collect::<Result<Vec<_>, _>>()?;
        let merged = merge(documents).map_err(Failure::usage)?;
        for disagreement in disagreements(&merged) {
            anstream::eprintln!("note: {disagreement}");
        }
        let mut bytes = Vec::new();
        self.put(&merged, &mut bytes)?.map_err(Failure::could_not_run)?;
        self.write(&bytes)
    }

    fn merge_evidence(self, files: &[PathBuf]) -> Result<Exit, Failure> {
        if self.report_format != ReportFormat::default() {
            return Err(Failure::usage(anyhow!(
                "--report-format is for reports: merge the evidence, then `replay` it with --report and --report-format"
            )));
        }
        if files.contains(&self.output) {
            return Err(Failure::usage(anyhow!(
                "{} is both an input and an output: write the merged evidence to another file",
                self.output.display()
            )));
        }
        let input = evidence_files::merged(files, &self.input.limits()).map_err(Failure::usage)?;
        for note in &input.notes {
            anstream::eprintln!("note: {}", escape::line(note));
        }
        let mut bytes = Vec::new();
        let written = file::write_named(&input.evidence, &self.output, &mut bytes);
        written.map_err(Failure::could_not_run)?;
        self.write(&bytes)
    }

    fn write(self, bytes: &[u8]) -> Result<Exit, Failure> {
        if self.output.to_str() == Some("-") {
            let text = String::from_utf8(bytes.to_vec())
                .map_err(|_| Failure::could_not_run(anyhow!("the report is no text")))?;
            print(&text)?;
        } else {
            let output = Output::open("--output", self.output).map_err(Failure::usage)?;
            let written = output.write(|into| into.write_all(bytes));
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

/// Whether a file holds evidence. One that cannot be opened is left to the reader of reports, which says why.
fn is_evidence(path: &Path) -> bool {
    file::is_one(path).unwrap_or(false)
}
