//! The flags for reports and printing.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use evidence::Claim;
use report::{Form, Outputs, Prepared};

use super::Failure;

/// Which reports to write, and how to print.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    #[command(flatten)]
    files: FileFlags,
    /// How to print the list of rules
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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
    /// Write a SARIF report, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the decision as a badge (SVG), for a README
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Write the decision and its reasons in at most 4096 bytes, for /dev/termination-log in a Pod
    #[arg(long, value_name = "FILE")]
    termination_message: Option<PathBuf>,
    /// Write the report to submit, in YAML; add --record so that others can verify it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The format of --report
    #[arg(long, value_enum, default_value_t, requires = "report")]
    report_format: ReportFormat,
    /// Write a JSON report
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the evidence, for `replay`; compressed if FILE ends in .zst
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// How to print the list of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line per rule
    #[default]
    Pretty,
    /// One character per rule
    Terse,
    /// One JSON object per rule, as libtest prints them
    Json,
    /// Like pretty, and annotations for a GitHub workflow
    Github,
}

/// The format of the report to submit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// The suite's own, which can be verified, compared and merged
    #[default]
    Clusterprofile,
    /// The input of the SIG's matrix of implementations
    SigMulticluster,
}

impl ReportFormat {
    fn form(self) -> Form {
        match self {
            ReportFormat::Clusterprofile => Form::Report,
            ReportFormat::SigMulticluster => Form::Matrix,
        }
    }
}

impl OutputFlags {
    /// Checks that the report to submit is of one API: implementations of the two are compared apart.
    ///
    /// # Errors
    /// When the claim is of two APIs.
    pub fn check(&self, claim: &Claim) -> Result<(), Failure> {
        match (&self.files.report, claim.also) {
            (Some(_), Some(_)) => Err(Failure::usage(anyhow!(
                "--report is about one API: judge with --api clusterprofile or --api placement"
            ))),
            _ => Ok(()),
        }
    }

    /// Prepares the files: see [`FileFlags::prepare`].
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn prepare<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<Prepared, Failure> {
        self.files.prepare(inputs)
    }
}

impl FileFlags {
    /// Checks that the files can be written, and that none of them is an input.
    ///
    /// # Errors
    /// When one cannot be.
    pub fn prepare<'a>(&self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<Prepared, Failure> {
        let inputs: Vec<PathBuf> = inputs.into_iter().flat_map(Path::canonicalize).collect();
        let outputs = self.outputs();
        let mut written = outputs.0.values();
        if let Some(path) = written.find(|path| path.canonicalize().is_ok_and(|path| inputs.contains(&path)))
        {
            return Err(Failure::usage(anyhow!(
                "{} is both an input and an output: write the report to another file",
                path.display()
            )));
        }
        outputs.prepare(flag).map_err(Failure::usage)
    }

    fn outputs(&self) -> Outputs {
        let asked = [
            (Form::Record, &self.record),
            (Form::Json, &self.json),
            (Form::Junit, &self.junit),
            (Form::Html, &self.html),
            (Form::Markdown, &self.markdown),
            (Form::Sarif, &self.sarif),
            (Form::Badge, &self.badge),
            (Form::TerminationMessage, &self.termination_message),
            (self.report_format.form(), &self.report),
        ];
        Outputs(
            asked
                .into_iter()
                .filter_map(|(form, path)| Some((form, path.clone()?)))
                .collect(),
        )
    }
}

/// The flag that asks for a file.
fn flag(form: Form) -> &'static str {
    match form {
        Form::Record => "--record",
        Form::Json => "--json",
        Form::Junit => "--junit",
        Form::Html => "--html",
        Form::Markdown => "--markdown",
        Form::Sarif => "--sarif",
        Form::Badge => "--badge",
        Form::TerminationMessage => "--termination-message",
        Form::Report | Form::Matrix => "--report",
    }
}
