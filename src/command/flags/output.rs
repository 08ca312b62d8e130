//! The flags for reports and printing.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use evidence::Claim;
use report::{FileFormat, OutputFiles, prepare};

use crate::command::terminal::exit::{Failure, bail_usage};

/// Which reports to write, and how to print.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    #[command(flatten)]
    pub files: FileFlags,
    /// Print every rule, and why rules were not checked
    #[arg(short, long)]
    pub verbose: bool,
    /// How to print the verdicts
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Exit with 3 unless each MUST rule was judged
    ///
    /// Or the evidence shows that the rule does not apply.
    #[arg(long, help_heading = "Rules")]
    pub complete: bool,
}

/// Which reports to write.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct FileFlags {
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write an HTML report: one self-contained file, with drawings of the watch
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a Markdown report; $GITHUB_STEP_SUMMARY is appended to
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the decision as a badge (SVG), for a README
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Write the report to submit; add --record for verification
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a JSON report
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the evidence, for `replay`; .zst compresses it
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// How to print what has no verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PrintFormat {
    /// For people
    #[default]
    Pretty,
    /// One JSON object
    Json,
}

/// How to print the verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// What fails and warns, and the decision
    #[default]
    Pretty,
    /// Like pretty, and annotations for a GitHub workflow
    Github,
}

impl OutputFlags {
    /// Checks that the report to submit is of one role: implementations of different ones are compared apart.
    pub fn check(&self, claim: &Claim) -> Result<(), Failure> {
        match (&self.files.report, claim.also) {
            (Some(_), Some(_)) => Err(Failure::usage(anyhow!(
                "--report is about one role: judge with --role manager or --role scheduler"
            ))),
            _ => Ok(()),
        }
    }
}

impl FileFlags {
    /// Checks that the files can be written, and that none of them is an input.
    pub fn prepare(&self, inputs: &[PathBuf]) -> Result<OutputFiles, Failure> {
        let inputs: Vec<PathBuf> = inputs.iter().flat_map(|path| path.canonicalize()).collect();
        let files = [
            (FileFormat::Junit, &self.junit),
            (FileFormat::Html, &self.html),
            (FileFormat::Markdown, &self.markdown),
            (FileFormat::Badge, &self.badge),
            (FileFormat::Json, &self.json),
            (FileFormat::Report, &self.report),
            (FileFormat::Record, &self.record),
        ];
        let files = files.into_iter();
        let files: BTreeMap<FileFormat, PathBuf> = files
            .filter_map(|(format, path)| Some((format, path.clone()?)))
            .collect();
        let mut written = files.values();
        if let Some(path) = written.find(|path| path.canonicalize().is_ok_and(|path| inputs.contains(&path)))
        {
            bail_usage!(
                "{} is both an input and an output: write the report to another file",
                path.display()
            );
        }
        prepare(files, |format| format!("--{format}")).map_err(Failure::usage)
    }
}
