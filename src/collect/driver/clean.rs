//! Undoes what killed runs have left behind on a hub.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use evidence::{
    Claim, DriverAction, ObjectRef,
    api::{ObjectKind, Role},
    redact::without_credentials,
    runs::LABEL_RUN,
};

use super::{Commands, DriverFile, DriverWrites, Journal, Touched, UndoEntry, call_undo, list_labelled};
use crate::{
    clock::Clock,
    connect::{Connection, HubAccess},
    hub::{CollectError, HubTarget, target},
};

/// The result of cleaning up, in lines for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What was done, and what was left alone.
    pub messages: Vec<String>,
    /// What could not be undone.
    pub leftovers: Vec<String>,
}

/// Why nothing could be cleaned up at all.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// The hub does not answer.
    #[error(transparent)]
    Hub(#[from] CollectError),
    /// The journals cannot be read.
    #[error("failed to read what runs have left in {}: {source}", folder.display())]
    Journals {
        /// The folder that they are in.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Undoes what killed runs have left on the hub, by their journals in `folder`. A journal names the driver file whose
/// hooks undo it; `driver_file` takes its place if it was moved.
///
/// # Errors
/// When the hub does not answer, or the journals cannot be read. Changes that cannot be undone are leftovers instead.
pub async fn clean(
    hub: &Connection,
    claim: &Claim,
    api_version: Option<&str>,
    clock: Clock,
    folder: &Path,
    driver_file: Option<&Path>,
) -> Result<Cleaned, CleanError> {
    let mut cleaned = Cleaned::default();
    let Some(access) = hub.access() else {
        let message = "a hub of the suite's own goes with its run: there is nothing to clean up";
        cleaned.messages.push(message.to_owned());
        return Ok(cleaned);
    };
    // The killed run may have judged a scheduler, whatever is judged now.
    let mut claim = claim.clone();
    if claim.edition_of(Role::Scheduler).is_none() {
        claim.also = Role::Scheduler.editions().next();
    }
    let placements = claim.edition_of(Role::Scheduler);
    let target = target(&hub.timed(), clock, &hub.source, &claim, placements, api_version).await?;
    let (unfinished, active) = Journal::unfinished(folder).map_err(|source| CleanError::Journals {
        folder: folder.to_owned(),
        source,
    })?;
    let left_alone = |run: &String| format!("run {run} is still going on: it is left alone");
    cleaned.messages.extend(active.iter().map(left_alone));
    // Runs that are reported already.
    let mut runs: BTreeSet<String> = active.into_iter().collect();
    for journal in unfinished {
        let head = &journal.head;
        if head.server != without_credentials(&access.server) {
            cleaned.messages.push(format!(
                "run {} was on another hub ({}, {}): clean up there",
                head.run, head.hub, head.server
            ));
            continue;
        }
        let path = driver_file.unwrap_or(&head.driver_file);
        undo_all(access, hub, &target, path, &journal, &mut cleaned).await;
        if !journal.pending().is_empty() {
            runs.insert(head.run.clone());
        }
    }
    cleaned.messages.extend(other_runs(hub, &target, &runs).await?);
    if cleaned == Cleaned::default() {
        let message = format!("nothing is left of any run on this hub ({})", hub.source);
        cleaned.messages.push(message);
    }
    Ok(cleaned)
}

async fn undo_all(
    access: &HubAccess,
    hub: &Connection,
    target: &HubTarget,
    driver_file: &Path,
    journal: &Journal,
    cleaned: &mut Cleaned,
) {
    let run = &journal.head.run;
    let client = hub.timed();
    let writes = DriverWrites::new(&client, target, run, Touched::default());
    for entry in journal.pending().into_iter().rev() {
        let outcome = match &entry {
            UndoEntry::Hook { action, name } => call_hook(access, run, driver_file, *action, name).await,
            entry => writes.undo(entry).await.map_err(|failure| failure.to_string()),
        };
        match outcome {
            Ok(changes) => {
                let messages = changes.iter().map(|change| format!("run {run}: {change}"));
                cleaned.messages.extend(messages);
                journal.undone(&entry);
            }
            Err(reason) => cleaned
                .leftovers
                .push(format!("run {run}: failed to {entry}: {reason}")),
        }
    }
    if journal.pending().is_empty() {
        let message = format!("run {run}: everything that it did is undone");
        cleaned.messages.push(message);
    }
}

async fn call_hook(
    access: &HubAccess,
    run: &str,
    driver_file: &Path,
    action: DriverAction,
    name: &str,
) -> Result<Vec<String>, String> {
    let file = DriverFile::read(driver_file)
        .map_err(|error| format!("{error}; use --driver FILE if the driver file was moved"))?;
    let members = file.members.clone();
    let hooks =
        Commands::new(file, access, run).map_err(|error| format!("the hooks cannot be run: {error}"))?;
    match call_undo(&hooks, &members, action, name).await.failure {
        None if name.is_empty() => Ok(vec![format!("called the hook `{action}`")]),
        None => Ok(vec![format!("called the hook `{action}` for {name}")]),
        Some(reason) => Err(reason),
    }
}

/// Reports the objects of runs whose journals are not here. These runs may still be active.
async fn other_runs(
    hub: &Connection,
    target: &HubTarget,
    runs: &BTreeSet<String>,
) -> Result<Vec<String>, CleanError> {
    let mut messages = Vec::new();
    for kind in [ObjectKind::ClusterProfile, ObjectKind::PlacementDecision] {
        let plural = kind.plural();
        let labelled = match list_labelled(&hub.timed(), target, kind, "", None).await {
            // A user who writes profiles need not read slices.
            Err(failure) if kind == ObjectKind::PlacementDecision && failure.code() == 403 => {
                messages.push(format!(
                    "the hub does not let this user list {plural}: some of other machines' runs may be left"
                ));
                continue;
            }
            labelled => labelled
                .map_err(|failure| CollectError::of(&failure, &hub.source, "list what runs have created"))?,
        };
        let mut reported = runs.clone();
        for object in labelled {
            let run = object["metadata"]["labels"][LABEL_RUN]
                .as_str()
                .unwrap_or_default();
            if reported.insert(run.to_owned()) {
                let object = ObjectRef::of_value(&object, kind.name());
                messages.push(format!(
                    "{object} is of run {run}, whose journal is not on this machine: once that run is over, `kubectl \
                     delete {plural} -A -l {LABEL_RUN}={run}`"
                ));
            }
        }
    }
    Ok(messages)
}

#[cfg(test)]
mod tests;
