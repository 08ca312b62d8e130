//! The hub's audit log, which shows no-op writes and who made them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use collect::requests::{RequestsError, merge_into, read_audit_log, read_audit_text};
use evidence::{Asked, Evidence, Gap, Kind};
use lab::hub::Hub;
use report::escape;

use super::target::Target;
use crate::command::terminal::exit::Failure;

/// The value of `--audit-log` that reads none.
const NONE: &str = "none";

/// Lists the logs that the user named.
///
/// # Errors
/// When `none` is among others, or the hub is a test hub, which has its own.
pub fn named(given: &[PathBuf], target: Option<&Target>) -> Result<Vec<PathBuf>, Failure> {
    let is_none = |log: &PathBuf| log.as_path() == Path::new(NONE);
    if given.iter().all(is_none) {
        return Ok(Vec::new());
    }
    if given.iter().any(is_none) {
        return Err(Failure::usage(anyhow!(
            "--audit-log none reads no log: leave out the others, or name a file of that name as ./none"
        )));
    }
    if target.is_some_and(|target| target.reference().is_some()) {
        return Err(Failure::usage(anyhow!(
            "a test hub's own audit log is read: leave out --audit-log"
        )));
    }
    Ok(given.to_vec())
}

/// Checks before a run that the logs can be opened.
///
/// # Errors
/// When one cannot be opened.
pub fn check(logs: &[PathBuf]) -> Result<(), Failure> {
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
///
/// # Errors
/// When they cannot be used.
pub fn add(evidence: &mut Evidence, logs: &[PathBuf]) -> Result<(), RequestsError> {
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
pub fn add_or_miss(evidence: &mut Evidence, logs: &[PathBuf]) {
    if let Err(error) = add(evidence, logs) {
        evidence.header.asked.insert(Kind::Requests, Asked::Yes);
        evidence.gaps.push(Gap::of(Kind::Requests, error.to_string()));
    }
}

/// Adds a test hub's audit log, which needs no flag.
///
/// # Errors
/// When it cannot be read.
pub async fn add_own(evidence: &mut Evidence, hub: &Hub) -> Result<(), RequestsError> {
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
