//! The files that several subcommands read: evidence, audit logs, and waivers.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::Args;
use collect::{
    clock::Clock,
    requests::{RequestsError, merge_into, read_audit_log, read_audit_text},
};
use evidence::{
    Asked, Evidence, Gap, Input, InputError, Kind, LARGEST_TEXT, Limits, read_input_bounded, read_text,
};
use judge::Waivers;
use lab::hub::Hub;
use report::escape;

use super::{plan::Size, target::Target};
use crate::command::terminal::{
    advice,
    exit::{Failure, bail_usage},
};

/// How much is read.
#[derive(Clone, Copy, Debug, Args)]
pub struct InputFlags {
    /// Refuse larger files, for example 500Mi
    ///
    /// The size is that of the decompressed file; the files of a dump's folder count as one.
    #[arg(long, value_name = "SIZE", default_value_t = InputFlags::default().max_input, help_heading = "Input")]
    max_input: Size,
}

impl Default for InputFlags {
    fn default() -> Self {
        Self {
            max_input: Size(Limits::default().whole),
        }
    }
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

/// The value of `--audit-log` that reads none.
const NONE: &str = "none";

pub fn audit_logs(given: &[PathBuf], target: Option<&Target>) -> Result<Vec<PathBuf>, Failure> {
    let is_none = |log: &PathBuf| log.as_path() == Path::new(NONE);
    if given.iter().all(is_none) {
        return Ok(Vec::new());
    }
    if given.iter().any(is_none) {
        bail_usage!(
            "--audit-log none reads no log: leave out the others, or name a file of that name as ./none"
        );
    }
    if target.is_some_and(|target| target.reference().is_some()) {
        bail_usage!("a test hub's own audit log is read: leave out --audit-log");
    }
    Ok(given.to_vec())
}

/// Checks before a run that the logs can be opened.
pub fn check_audit_logs(logs: &[PathBuf]) -> Result<(), Failure> {
    for log in logs {
        let readable = if log.is_dir() {
            fs::read_dir(log).map(drop)
        } else {
            File::open(log).map(drop)
        };
        readable
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
        evidence.header.asked.insert(Kind::Requests, Asked::Yes);
        evidence.gaps.push(Gap::of(Kind::Requests, error.to_string()));
    }
}

/// Adds a test hub's audit log, which needs no flag.
pub async fn add_own_audit_log(evidence: &mut Evidence, hub: &Hub) -> Result<(), RequestsError> {
    if let Some(lab) = hub.as_lab() {
        let log = read_audit_text("the lab's audit log", lab.audit_log().as_bytes())?;
        merge_into(evidence, log);
    } else if let Some(envtest) = hub.as_envtest() {
        merge_into(evidence, read_audit_log(&[envtest.audit_log()])?);
    }
    #[cfg(feature = "k3s")]
    if let Some(k3s) = hub.as_k3s() {
        let name = "the audit log of K3s";
        let text = k3s.audit_log().await.map_err(|error| RequestsError::Read {
            path: name.to_owned(),
            cause: std::io::Error::other(error),
        })?;
        merge_into(evidence, read_audit_text(name, text.as_slice())?);
    }
    Ok(())
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
