//! Undoes what killed runs have left behind on a hub.

mod finalizers;

use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use evidence::{
    Claim, DriverAction, ObjectKey, ObjectRef, PlacementRequest,
    api::{ObjectKind, Role},
    redact::without_credentials,
    runs::LABEL_RUN,
};
use finalizers::Deleted;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    command::Commands,
    file::{DriverFile, Members, error::DriverFileError},
    hooks::{Call, Hooks as _, Member, Way},
    journal::{Found, UndoEntry},
    writes::{undo_creation, undo_field, undo_namespace},
};
use crate::{
    clock::Clock,
    connect::{
        call::{TimedClient, segment},
        connection::Connection,
        failure::Failure,
        hub_access::HubAccess,
    },
    hub::{
        error::CollectError,
        target::{Target, target},
    },
    watch::list::list,
};

/// What came of cleaning up, in lines for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What was done, and what was left alone.
    pub messages: Vec<String>,
    /// What could not be undone.
    pub leftovers: Vec<String>,
}

impl Cleaned {
    fn fail(&mut self, run: &str, what: &str, reason: &impl fmt::Display) {
        self.leftovers
            .push(format!("run {run}: failed to undo it ({what}): {reason}"));
    }
}

/// Why nothing could be cleaned up at all.
#[derive(Debug, thiserror::Error)]
pub enum CleanError {
    /// The hub cannot be asked.
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
    /// The hub is the suite's own, and went with the run.
    #[error("a hub of the suite's own goes with its run: there is nothing to clean up")]
    OwnHub,
}

/// Why one change cannot be undone.
#[derive(Debug, thiserror::Error)]
enum UndoError {
    #[error("{0}; name its new place if it was moved")]
    DriverFile(#[from] DriverFileError),
    #[error("the hooks cannot be run: {0}")]
    Hooks(#[source] io::Error),
    /// What the hook said, for a person.
    #[error("{0}")]
    Hook(String),
    #[error(transparent)]
    Hub(#[from] Failure),
}

/// Undoes what killed runs have left on the hub, by their journals in `folder`. A journal names the driver file whose
/// hooks undo it; `driver_file` takes its place where it was moved.
///
/// # Errors
/// When the hub cannot be asked, or the journals cannot be read. What cannot be undone is told instead.
pub async fn clean(
    hub: &Connection,
    claim: &Claim,
    api_version: Option<&str>,
    clock: Clock,
    folder: &Path,
    driver_file: Option<&Path>,
    stop: CancellationToken,
) -> Result<Cleaned, CleanError> {
    let access = hub.access().ok_or(CleanError::OwnHub)?;
    // A run on decisions may have been killed, whatever is judged now.
    let mut claim = claim.clone();
    if claim.edition_of(Role::Scheduler).is_none() {
        claim.also = Role::Scheduler.editions().next();
    }
    let placements = claim.edition_of(Role::Scheduler);
    let target = target(&hub.timed(), clock, &hub.source, &claim, placements, api_version).await?;
    clean_by(access, hub, &target, folder, driver_file, stop).await
}

/// The same for a hub that serves this, and to which that is the way.
async fn clean_by(
    access: &HubAccess,
    hub: &Connection,
    target: &Target,
    folder: &Path,
    driver_file: Option<&Path>,
    stop: CancellationToken,
) -> Result<Cleaned, CleanError> {
    let journals = Found::all(folder).map_err(|source| CleanError::Journals {
        folder: folder.to_owned(),
        source,
    })?;
    let (found, going_on) = journals;
    let mut cleaned = Cleaned::default();
    for run in &going_on {
        cleaned
            .messages
            .push(format!("run {run} is still going on: it is left alone"));
    }
    for mut journal in found {
        let head = &journal.head;
        if head.server != without_credentials(&access.server) {
            cleaned.messages.push(format!(
                "run {} was on another hub ({}, {}): clean up there",
                head.run, head.hub, head.server
            ));
            continue;
        }
        let path = driver_file.unwrap_or(&head.driver_file).to_owned();
        let work = Work {
            hub,
            access,
            target,
            stop: &stop,
            driver_file: &path,
        };
        work.undo_all(&mut journal, &mut cleaned).await;
        if journal.pending.is_empty() {
            let (run, path) = (journal.head.run.clone(), journal.path.clone());
            match journal.end() {
                Ok(()) => cleaned
                    .messages
                    .push(format!("run {run}: everything that it did is undone")),
                Err(error) => cleaned
                    .leftovers
                    .push(format!("{}: it could not be removed: {error}", path.display())),
            }
        }
    }
    cleaned
        .messages
        .extend(strangers(hub, target, &going_on, &cleaned.leftovers).await?);
    if cleaned == Cleaned::default() {
        cleaned
            .messages
            .push(format!("nothing is left of any run on this hub ({})", hub.source));
    }
    Ok(cleaned)
}

/// What is needed to clean up after one run.
struct Work<'a> {
    hub: &'a Connection,
    access: &'a HubAccess,
    target: &'a Target,
    stop: &'a CancellationToken,
    driver_file: &'a Path,
}

impl Work<'_> {
    /// Undoes what is written down, the last first.
    async fn undo_all(&self, journal: &mut Found, cleaned: &mut Cleaned) {
        let run = journal.head.run.clone();
        let mut deleted = Vec::new();
        let mut failed = BTreeSet::new();
        let (expanded, unlisted) = self.expanded(&run, journal.pending.clone()).await;
        for (number, failure) in unlisted {
            failed.insert(number);
            cleaned.fail(&run, "list what it published", &failure);
        }
        for (number, undo) in expanded.into_iter().rev() {
            let (what, outcome) = self.undo(&run, &undo).await;
            match outcome {
                Ok(()) => {
                    cleaned.messages.push(format!("run {run}: {what}"));
                    deleted.extend(created(undo).map(|(kind, key)| Deleted {
                        number,
                        what,
                        kind,
                        key,
                    }));
                }
                Err(reason) => {
                    failed.insert(number);
                    cleaned.fail(&run, &what, &reason);
                }
            }
        }
        for (object, released) in self.release(&run, deleted).await {
            let what = &object.what;
            match released {
                Ok(finalizers) if finalizers.is_empty() => {}
                Ok(finalizers) => cleaned.messages.push(format!(
                    "run {run}: {what}: its finalizers were taken off ({})",
                    finalizers.join(", ")
                )),
                Err(failure) => {
                    failed.insert(object.number);
                    cleaned.fail(&run, what, &failure);
                }
            }
        }
        let numbers: Vec<u64> = journal.pending.iter().map(|(number, _)| *number).collect();
        for number in numbers.into_iter().filter(|number| !failed.contains(number)) {
            journal.undone(number);
        }
    }

    /// Replaces the entry of a testbed by the objects that carry the label of the run. Also returns which could not be listed.
    async fn expanded(
        &self,
        run: &str,
        pending: Vec<(u64, UndoEntry)>,
    ) -> (Vec<(u64, UndoEntry)>, Vec<(u64, Failure)>) {
        let (mut entries, mut unlisted) = (Vec::new(), Vec::new());
        for (number, undo) in pending {
            let UndoEntry::Testbed { namespaces } = undo else {
                entries.push((number, undo));
                continue;
            };
            match self.published(run, &namespaces).await {
                Ok(published) => entries.extend(published.into_iter().map(|undo| (number, undo))),
                Err(failure) => unlisted.push((number, failure)),
            }
        }
        (entries, unlisted)
    }

    /// The profiles and slices in these namespaces with the label of the run.
    async fn published(&self, run: &str, namespaces: &[String]) -> Result<Vec<UndoEntry>, Failure> {
        let client = &self.hub.timed();
        let mut published = Vec::new();
        for namespace in namespaces {
            for profile in list_keys(client, self.target, ObjectKind::ClusterProfile, namespace, run).await? {
                published.push(UndoEntry::Profile { profile });
            }
            if self.target.placements.is_some() {
                for slice in
                    list_keys(client, self.target, ObjectKind::PlacementDecision, namespace, run).await?
                {
                    published.push(UndoEntry::Slice { slice });
                }
            }
        }
        Ok(published)
    }

    async fn undo(&self, run: &str, undo: &UndoEntry) -> (String, Result<(), UndoError>) {
        let client = &self.hub.timed();
        match undo {
            UndoEntry::Member { name } => (
                format!("the member {name} leaves"),
                self.call(run, DriverAction::Leave, name).await,
            ),
            UndoEntry::Outage { name } => (
                format!("the member {name} heals"),
                self.call(run, DriverAction::Heal, name).await,
            ),
            UndoEntry::Disconnection => (
                "the implementation is connected again".to_owned(),
                self.call(run, DriverAction::Reconnect, "").await,
            ),
            UndoEntry::Placement { name } => (
                format!("the placement {name} is taken back"),
                self.call(run, DriverAction::Unplace, name).await,
            ),
            // Its objects are entries of their own.
            UndoEntry::Testbed { .. } => ("the testbed is deleted".to_owned(), Ok(())),
            UndoEntry::Profile { profile } => self.uncreate(run, ObjectKind::ClusterProfile, profile).await,
            UndoEntry::Slice { slice } => self.uncreate(run, ObjectKind::PlacementDecision, slice).await,
            UndoEntry::Namespace { name } => (
                format!("Namespace {name} goes"),
                undo_namespace(client, run, name).await.map_err(UndoError::Hub),
            ),
            UndoEntry::Field(change) => (
                format!(
                    "{} of ClusterProfile {}/{} is as before",
                    change.pointer, change.profile.namespace, change.profile.name
                ),
                undo_field(client, self.target, change)
                    .await
                    .map_err(UndoError::Hub),
            ),
        }
    }

    /// Deletes an object that the run has created.
    async fn uncreate(
        &self,
        run: &str,
        kind: ObjectKind,
        key: &ObjectKey,
    ) -> (String, Result<(), UndoError>) {
        let gone = undo_creation(&self.hub.timed(), self.target, run, kind, key).await;
        (
            format!("{} {}/{} goes", kind.name(), key.namespace, key.name),
            gone.map_err(UndoError::Hub),
        )
    }

    async fn call(&self, run: &str, action: DriverAction, name: &str) -> Result<(), UndoError> {
        let file = DriverFile::read(self.driver_file)?;
        if action == DriverAction::Heal && !file.hooks.contains_key(&action) {
            // Stand-ins broke by themselves, and went with the run.
            return Ok(());
        }
        let own = match &file.members {
            Members::Own(own) => own.iter().find(|own| own.name == name),
            Members::StandIns | Members::Made => None,
        };
        let kubeconfig = own.and_then(|own| own.kubeconfig.clone());
        let member = Member {
            name: name.to_owned(),
            way: kubeconfig.map_or(Way::Unknown, Way::File),
        };
        let profile = own.and_then(|own| own.profile.clone());
        let hooks = Commands::new(file, self.access, run).map_err(UndoError::Hooks)?;
        let placement = PlacementRequest {
            name: name.to_owned(),
            ..PlacementRequest::default()
        };
        let is_on_placements = action.is_on_placements();
        let call = Call {
            member: Some(&member).filter(|_| !is_on_placements && !name.is_empty()),
            profile,
            placement: is_on_placements.then_some(&placement),
            ..Call::of(action)
        };
        match hooks.call(&call, self.stop.clone()).await.failure {
            None => Ok(()),
            Some(reason) => Err(UndoError::Hook(reason)),
        }
    }
}

/// The names of the objects in a namespace with the label of the run. None if this user may not list them.
async fn list_keys(
    client: &TimedClient,
    target: &Target,
    kind: ObjectKind,
    namespace: &str,
    run: &str,
) -> Result<Vec<ObjectKey>, Failure> {
    let selector = segment(&format!("{LABEL_RUN}={run}"));
    let path = format!("{}?labelSelector={selector}", target.collection(kind, namespace));
    let found = Arc::<Mutex<Vec<ObjectKey>>>::default();
    let into = Arc::clone(&found);
    let each = move |json: &[u8]| {
        let object = serde_json::from_slice::<Value>(json).unwrap_or_default();
        into.lock()
            .push(ObjectKey::from(&ObjectRef::of_value(&object, kind.name())));
    };
    match list(client, &path, each).await {
        Err(failure) if kind == ObjectKind::PlacementDecision && failure.code() == 403 => {}
        listed => _ = listed?,
    }
    Ok(std::mem::take(&mut *found.lock()))
}

/// The object of the API whose creation is undone.
fn created(undo: UndoEntry) -> Option<(ObjectKind, ObjectKey)> {
    match undo {
        UndoEntry::Profile { profile } => Some((ObjectKind::ClusterProfile, profile)),
        UndoEntry::Slice { slice } => Some((ObjectKind::PlacementDecision, slice)),
        _ => None,
    }
}

/// Profiles and slices that a run of another machine has created, or one whose journal is gone: it may be going on.
async fn strangers(
    hub: &Connection,
    target: &Target,
    going_on: &[String],
    leftovers: &[String],
) -> Result<Vec<String>, CleanError> {
    let slices = target.placements.as_ref();
    let slices = slices.map(|target| (ObjectKind::PlacementDecision, target.slices(None)));
    let mut told = Vec::new();
    for (kind, path) in [(ObjectKind::ClusterProfile, target.profiles(None))]
        .into_iter()
        .chain(slices)
    {
        let path = format!("{path}?labelSelector={}", segment(LABEL_RUN));
        let found = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&found);
        let each = move |json: &[u8]| into.lock().extend(serde_json::from_slice::<Value>(json));
        match list(&hub.timed(), &path, each).await {
            Ok(_) => {}
            // Who cleans up after profiles need not see slices.
            Err(failure) if kind == ObjectKind::PlacementDecision && failure.code() == 403 => {
                told.push(format!(
                    "the hub does not let this user list {}: those of other machines' runs may be left",
                    kind.plural()
                ));
                continue;
            }
            Err(failure) => {
                return Err(CollectError::of(&failure, &hub.source, "list what runs have created").into());
            }
        }
        let mut seen = BTreeSet::new();
        for item in &*found.lock() {
            let run = item["metadata"]["labels"][LABEL_RUN].as_str().unwrap_or_default();
            let object = ObjectRef::of_value(item, kind.name());
            let known = going_on.iter().any(|known| known == run)
                || leftovers.iter().any(|told| told.contains(&object.path()));
            if !known && seen.insert(run.to_owned()) {
                told.push(format!(
                    "{object} is of run {run}, of which nothing is written down here: once that run is over, `kubectl \
                     delete {} -A -l {LABEL_RUN}={run}`",
                    kind.plural()
                ));
            }
        }
    }
    Ok(told)
}

#[cfg(test)]
mod tests;
