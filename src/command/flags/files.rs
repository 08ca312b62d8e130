//! The files that several subcommands read: evidence, audit logs, and waivers; and those that they write: reports.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use collect::{
    clock::Clock,
    requests::{RequestsError, merge_into, read_audit_log},
};
use evidence::{
    Claim, Evidence, Gap, Input, InputError, Kind, LARGEST_TEXT, Limits, Requested, read_input_bounded,
    read_text,
};
use judge::Waivers;
use report::{FileFormat, OutputFiles, escape, prepare};

use super::plan::Size;
use crate::command::{Failure, Target, bail_usage, terminal::advice};

/// How much is read.
#[derive(Clone, Copy, Debug, Args)]
pub struct InputFlags {
    /// Refuse larger files, for example 500Mi
    ///
    /// The size is that of the decompressed file; the files of a dump's folder count as one.
    #[arg(long, value_name = "SIZE", default_value = "4Gi", help_heading = "Input")]
    max_input: Size,
}

/// The lines that the evidence of a report may always have.
const LEAST_LINES: usize = 10_000;

/// For each so many bytes that may be read of a report's evidence, one line: judging a line takes 6 kB, however short it is.
const BYTES_OF_A_LINE: u64 = 8 << 10;

impl InputFlags {
    /// The limits on a report to be verified, which comes from a stranger, and on its evidence.
    pub fn limits_of_submitted(&self) -> Limits {
        let limits = self.limits();
        let lines = usize::try_from(limits.whole / BYTES_OF_A_LINE).unwrap_or(usize::MAX);
        Limits {
            count: limits.count.min(lines.max(LEAST_LINES)),
            ..limits
        }
    }

    pub fn limits(&self) -> Limits {
        Limits {
            whole: self.max_input.0,
            ..Limits::default()
        }
    }
}

/// Reads an evidence file or a dump, and names the flags that collect what a dump lacks.
pub fn read_evidence(path: &Path, limits: &Limits) -> anyhow::Result<Input> {
    let mut input = read_untimed(path, limits)?;
    let header = &mut input.evidence.header;
    if header.window.is_none() {
        header.read_at.get_or_insert_with(|| Clock::system().now());
    }
    Ok(input)
}

/// Reads an evidence file or a dump, and leaves the time of a dump unset.
pub fn read_untimed(path: &Path, limits: &Limits) -> anyhow::Result<Input> {
    read_input_bounded(path, &collect::new_digester(), limits).map_err(advised)
}

fn advised(error: InputError) -> anyhow::Error {
    let message = format!("{error}{}", advice::too_large(error.limit()));
    anyhow::Error::new(error).context(message)
}

/// The audit logs to read. The value `none` reads none.
pub fn audit_logs(paths: &[PathBuf], target: Option<&Target>) -> Result<Vec<PathBuf>, Failure> {
    let is_none = |log: &PathBuf| log.as_path() == Path::new("none");
    if paths.iter().all(is_none) {
        return Ok(Vec::new());
    }
    if paths.iter().any(is_none) {
        bail_usage!(
            "--audit-log none reads no log: leave out the others, or name a file of that name as ./none"
        );
    }
    if target.is_some_and(|target| target.reference().is_some()) {
        bail_usage!("a test hub's own audit log is read: leave out --audit-log");
    }
    Ok(paths.to_vec())
}

/// Checks before a run that the logs can be opened.
pub fn check_audit_logs(logs: &[PathBuf]) -> Result<(), Failure> {
    for log in logs {
        let opened = if log.is_dir() {
            fs::read_dir(log).map(drop)
        } else {
            File::open(log).map(drop)
        };
        opened
            .with_context(|| format!("failed to read the audit log {}", log.display()))
            .map_err(Failure::usage)?;
    }
    Ok(())
}

/// Adds the logs to evidence that was read from a file, and prints notes about them.
pub fn add_audit_logs(evidence: &mut Evidence, logs: &[PathBuf]) -> Result<(), RequestsError> {
    if logs.is_empty() {
        return Ok(());
    }
    let log = read_audit_log(logs)?;
    for note in &log.notes {
        anstream::eprintln!("note: {}", escape::line(note));
    }
    merge_into(evidence, log);
    Ok(())
}

/// Adds the logs after a run. An unusable log becomes a gap, so the run's evidence is not lost.
pub fn add_audit_logs_or_gap(evidence: &mut Evidence, logs: &[PathBuf]) {
    if let Err(error) = add_audit_logs(evidence, logs) {
        evidence.header.requested.insert(Kind::Requests, Requested::Yes);
        evidence.gaps.push(Gap::of(Kind::Requests, error.to_string()));
    }
}

/// Reads the file, where one is named.
pub fn read_waivers(path: Option<&Path>) -> Result<Option<Waivers>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let text = read_named_text("waivers", path)?;
    let waivers = Waivers::parse(&text)
        .map_err(|error| Failure::usage(anyhow!("the waivers {} cannot be used: {error}", path.display())))?;
    Ok(Some(waivers))
}

/// Reads a file that affects verdicts. It has to have a name, so that errors can quote it.
pub fn read_named_text(what: &str, path: &Path) -> Result<String, Failure> {
    if path == Path::new("-") {
        bail_usage!("the {what} cannot come from standard input: name a file");
    }
    read_text(path, LARGEST_TEXT)
        .with_context(|| format!("failed to read the {what} {}", path.display()))
        .map_err(Failure::usage)
}

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
    pub format: VerdictFormat,
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
pub enum VerdictFormat {
    /// What fails and warns, and the decision
    #[default]
    Pretty,
    /// Like pretty, and annotations for a GitHub workflow
    Github,
}

impl OutputFlags {
    /// Checks that the report to submit is of one role: implementations of different ones are compared apart.
    pub fn check(&self, claim: &Claim) -> Result<(), Failure> {
        if self.files.report.is_some() && claim.also.is_some() {
            bail_usage!("--report is about one role: judge with --role manager or --role scheduler");
        }
        Ok(())
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
        let mut formats = BTreeMap::new();
        for (format, path) in files {
            let Some(path) = path else { continue };
            if path.canonicalize().is_ok_and(|path| inputs.contains(&path)) {
                let path = path.display();
                bail_usage!("{path} is both an input and an output: write the report to another file");
            }
            formats.insert(format, path.clone());
        }
        prepare(formats, |format| format!("--{format}")).map_err(Failure::usage)
    }
}
