//! The flags for reports and printing.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum, value_parser};
use evidence::Claim;
use report::{FORMATS, Form, Format as FileFormat, Outputs, Prepared};

use crate::command::terminal::exit::Failure;

/// Which reports to write, and how to print.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    #[command(flatten)]
    files: FileFlags,
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

/// Which reports to write: `--NAME FILE` for each format, and those below.
#[derive(Clone, Debug, Default)]
pub struct FileFlags {
    formats: BTreeMap<FileFormat, PathBuf>,
    submitted: SubmitFlags,
    recorded: RecordFlags,
}

/// The report to submit.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
struct SubmitFlags {
    /// Write the report to submit; add --record for verification
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The format of --report [default: clusterprofile]
    #[arg(long, value_enum)]
    report_format: Option<ReportFormat>,
}

/// The evidence.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
struct RecordFlags {
    /// Write the evidence, for `replay`; .zst compresses it
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// How to print the verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// What fails and warns, and the decision
    #[default]
    Pretty,
    /// Like pretty, after one character per rule
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
    /// Checks that the report to submit is of one role: implementations of different ones are compared apart.
    ///
    /// # Errors
    /// When the claim is of several roles.
    pub fn check(&self, claim: &Claim) -> Result<(), Failure> {
        match (&self.files.submitted.report, claim.also) {
            (Some(_), Some(_)) => Err(Failure::usage(anyhow!(
                "--report is about one role: judge with --role manager or --role scheduler"
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
        if self.submitted.report_format.is_some() && self.submitted.report.is_none() {
            return Err(Failure::usage(anyhow!("--report-format needs --report FILE")));
        }
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
        let Self {
            formats,
            submitted,
            recorded,
        } = self;
        let formats = formats.iter().map(|(format, path)| (Form::Format(*format), path));
        let record = recorded.record.iter().map(|path| (Form::Record, path));
        let report = submitted.report.iter();
        let report = report.map(|path| (submitted.report_format.unwrap_or_default().form(), path));
        let all = formats.chain(record).chain(report);
        Outputs(all.map(|(form, path)| (form, path.clone())).collect())
    }
}

impl Args for FileFlags {
    fn augment_args(command: Command) -> Command {
        let mut command = command.next_help_heading("Output");
        for format in FORMATS {
            // In the help, the report to submit stands before the JSON report.
            if format == FileFormat::Json {
                command = SubmitFlags::augment_args(command);
            }
            let flag = Arg::new(format.name())
                .long(format.name())
                .value_name("FILE")
                .help(format.about())
                .value_parser(value_parser!(PathBuf));
            command = command.arg(flag);
        }
        RecordFlags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FileFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let path = |format: FileFormat| {
            let path = matches.get_one::<PathBuf>(format.name())?;
            Some((format, path.clone()))
        };
        Ok(Self {
            formats: FORMATS.into_iter().filter_map(path).collect(),
            submitted: SubmitFlags::from_arg_matches(matches)?,
            recorded: RecordFlags::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag that asks for a file.
fn flag(form: Form) -> String {
    let name = match form {
        Form::Format(format) => format.name(),
        Form::Record => "record",
        Form::Report | Form::Matrix => "report",
    };
    format!("--{name}")
}
