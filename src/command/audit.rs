//! The hub's audit log, which tells of writes that change nothing and of who made them.

use std::{fs::File, io::Write, path::PathBuf};

use anyhow::Context;
use clusterprofile_conformance::{
    collect::requests::{RequestsError, merge_into, read_audit_log},
    evidence::{Asked, Evidence, Gap, Kind},
    hub::Hub,
};

use super::Failure;

/// Makes sure that the logs are there, before a run takes its time.
///
/// # Errors
/// When one cannot be opened.
pub fn check(logs: &[PathBuf]) -> Result<(), Failure> {
    for log in logs {
        File::open(log)
            .with_context(|| format!("failed to read the audit log {}", log.display()))
            .map_err(Failure::usage)?;
    }
    Ok(())
}

/// Adds what the logs tell to evidence that was read from a file.
///
/// # Errors
/// When they cannot be used.
pub fn add(evidence: &mut Evidence, logs: &[PathBuf]) -> Result<(), RequestsError> {
    if !logs.is_empty() {
        merge_into(evidence, read_audit_log(logs)?);
    }
    Ok(())
}

/// The same after a run. What was seen must not be lost for a log that cannot be used: it is a gap then.
pub fn add_or_miss(evidence: &mut Evidence, logs: &[PathBuf]) {
    if let Err(error) = add(evidence, logs) {
        evidence.header.asked.insert(Kind::Requests, Asked::Yes);
        evidence.gaps.push(Gap {
            kind: Kind::Requests,
            from: None,
            until: None,
            object: None,
            reason: error.to_string(),
        });
    }
}

/// Adds the audit log of a hub of our own, which needs no flag.
///
/// # Errors
/// When it cannot be read.
pub fn add_own(evidence: &mut Evidence, hub: &Hub) -> anyhow::Result<()> {
    if let Some(lab) = hub.as_lab() {
        // The reader takes files.
        let mut file = tempfile::NamedTempFile::new().context("failed to write the lab's audit log")?;
        file.write_all(lab.audit_log().as_bytes())?;
        add(evidence, &[file.path().to_owned()])?;
    } else if let Some(envtest) = hub.as_envtest() {
        add(evidence, &[envtest.audit_log()])?;
    }
    Ok(())
}
