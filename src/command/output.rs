//! The flags that say what to leave behind, and how to print.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use report::{Form, Outputs, Prepared};

use super::Failure;

/// What to leave behind, and how to print.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a report in HTML: one file to look at, with pictures of what was watched
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a report in Markdown; to $GITHUB_STEP_SUMMARY it is added
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a report in SARIF, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the decision as a picture (SVG), for a README
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// Write the report that is submitted, in YAML; with --record, so that others can verify it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The shape of --report
    #[arg(long, value_enum, default_value_t, requires = "report")]
    report_format: ReportFormat,
    /// Write a JSON report
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the evidence, to be judged again with `replay`; compressed where FILE ends in .zst
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How to print the list of rules
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
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

/// The shape of the report that is submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// The suite's own, which can be verified, compared and merged
    #[default]
    Clusterprofile,
    /// The one that the SIG's matrix of implementations is made from
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
    /// Makes sure that the files can be written, and that none of them is one of those to be read.
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
                "{} is to be read and to be written: give the report a file of its own",
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
        Form::Report | Form::Matrix => "--report",
    }
}
