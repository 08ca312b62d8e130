//! Deletes what the run published, by the label of the run, and notices what other clients did to it.

use std::{sync::Arc, time::Duration};

use evidence::{
    DriverAction, ObjectKey, ObjectRef, Published,
    api::{ObjectKind, names::KIND},
    runs::LABEL_RUN,
};
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    player::{Player, TICK, after},
    publish::Deletion,
};
use crate::{
    connect::{call::segment, failure::Failure},
    driver::UndoEntry,
    watch::list::list,
};

/// Interval of looking for objects that were deleted.
const CLEANUP_TICK: Duration = Duration::from_secs(1);
const PROFILE: ObjectKind = ObjectKind::ClusterProfile;

impl Player<'_> {
    /// Records in the log of changes to undo that the run will publish objects. Returns the number of the entry.
    pub(super) fn write_ahead(&self) -> Result<Option<u64>, String> {
        let Some(journal) = &self.plan.journal else {
            return Ok(None);
        };
        let namespaces = self.plan.namespaces();
        let recorded = journal.record_undo(UndoEntry::Objects { namespaces });
        recorded
            .map(Some)
            .map_err(|error| format!("cannot write the log of changes to undo: {error}"))
    }

    /// Deletes a profile, and waits until it is gone unless the consumer is stopped.
    pub(super) async fn delete(&mut self, key: &str) {
        self.close_expectations(key);
        self.close_rivals(key);
        let Some(object) = self.profiles.get(key).map(|profile| profile.object.clone()) else {
            return;
        };
        self.undecide_first(&ObjectKey::from(&object)).await;
        let is_deleted = self.delete_object(PROFILE, &object).await;
        let answered = self.now();
        let Some(profile) = self.profiles.get_mut(key) else {
            return;
        };
        profile.changed_at = answered;
        profile.deletion = if is_deleted {
            Deletion::Deleted(answered)
        } else {
            Deletion::Terminating
        };
        // A stopped consumer removes no finalizer.
        if self.last_hook() != Some(DriverAction::Stop) {
            self.wait_for_deletions().await;
        }
    }

    /// Deletes an object, and records whether it is gone. True if it is.
    pub(super) async fn delete_object(&mut self, kind: ObjectKind, object: &ObjectRef) -> bool {
        let sent = self.now();
        if let Err(failure) = self.writes.delete(kind, object).await {
            self.warn(&format!("the API server does not delete {object}: {failure}"));
            return false;
        }
        let (state, is_gone) = match self.writes.finalizers(kind, object).await {
            Ok(Some(finalizers)) => (Published::Terminating { finalizers }, false),
            _ => (Published::Deleted {}, true),
        };
        self.record(ObjectKey::from(object), sent, state);
        is_gone
    }

    /// Waits for the settle time until deleted profiles are gone, and records which are.
    pub(super) async fn wait_for_deletions(&mut self) {
        let deadline = after(self.now(), self.settle());
        while self.are_terminating().await && self.now() < deadline && !self.is_stopped() {
            self.pause(TICK).await;
        }
    }

    /// Whether finalizers hold deleted profiles. Records which are gone.
    async fn are_terminating(&mut self) -> bool {
        let terminating = self.profiles.iter();
        let terminating = terminating.filter(|(_, profile)| profile.deletion == Deletion::Terminating);
        let terminating: Vec<_> = terminating
            .map(|(key, profile)| (key.clone(), profile.object.clone()))
            .collect();
        let mut are_held = false;
        for (key, object) in &terminating {
            let sent = self.now();
            if !matches!(self.writes.finalizers(PROFILE, object).await, Ok(None)) {
                are_held = true;
                continue;
            }
            self.record(ObjectKey::from(object), sent, Published::Deleted {});
            let gone_at = self.now();
            if let Some(profile) = self.profiles.get_mut(key) {
                profile.deletion = Deletion::Deleted(gone_at);
            }
        }
        are_held
    }

    /// Lists the profiles of the run, and voids the expectations on those that another client has changed.
    pub(super) async fn check_profiles(&mut self) {
        self.are_terminating().await;
        let listed = match self.list_run(PROFILE).await {
            Ok(listed) => listed,
            Err(failure) => return self.warn(&format!("cannot list the {KIND}s of the run: {failure}")),
        };
        let existing = self.profiles.iter();
        let existing = existing.filter(|(_, profile)| profile.deletion == Deletion::NotDeleted);
        let changed = existing.filter(|(_, profile)| {
            let mut current = listed.iter();
            !current.any(|item| {
                item["metadata"]["uid"] == *profile.object.uid && is_unchanged(item, &profile.stored)
            })
        });
        let changed: Vec<String> = changed.map(|(key, _)| key.clone()).collect();
        changed.iter().for_each(|key| self.void_expectations(key));
    }

    /// Deletes all profiles and slices of the run. `undo` is the number of the entry in the log of changes to undo.
    pub(super) async fn clean_up(&self, undo: Option<u64>) {
        let is_clean = self.delete_all().await.unwrap_or_else(|failure| {
            self.warn(&format!("cannot list the objects of the run: {failure}"));
            false
        });
        let Some(journal) = &self.plan.journal else {
            return;
        };
        match undo.filter(|_| is_clean) {
            Some(undo) => journal.undone(undo),
            None => {
                if let Some(path) = journal.path() {
                    self.context.progress.left_over(path);
                }
            }
        }
    }

    /// Deletes all slices and profiles, and removes the finalizers that the consumer leaves on them. False if some remain.
    async fn delete_all(&self) -> Result<bool, Failure> {
        let mut is_clean = true;
        for (kind, object) in self.remaining().await? {
            self.writes.allow(&object);
            if let Err(failure) = self.writes.delete(kind, &object).await {
                self.warn(&format!("the API server does not delete {object}: {failure}"));
                is_clean = false;
            }
        }
        for (kind, object) in self.unreleased().await? {
            self.warn(&format!(
                "finalizers hold the deleted {object}: the run removes them"
            ));
            if let Err(failure) = self.writes.release(kind, &object).await {
                self.warn(&format!("{object} still exists: {failure}"));
                is_clean = false;
            }
        }
        Ok(is_clean)
    }

    /// The objects of the run that still exist after the consumer had the time to release them.
    async fn unreleased(&self) -> Result<Vec<(ObjectKind, ObjectRef)>, Failure> {
        let patience = match self.last_hook() {
            Some(DriverAction::Uninstall) => Duration::ZERO,
            _ => self.settle(),
        };
        let deadline = after(self.now(), patience);
        loop {
            let remaining = self.remaining().await?;
            if remaining.is_empty() || self.now() >= deadline || self.is_stopped() {
                return Ok(remaining);
            }
            self.pause(CLEANUP_TICK).await;
        }
    }

    /// The slices and profiles of the run that exist.
    async fn remaining(&self) -> Result<Vec<(ObjectKind, ObjectRef)>, Failure> {
        let slices = self.plan.claims.reads_placements();
        let slices = slices.then_some(ObjectKind::PlacementDecision);
        let mut remaining = Vec::new();
        for kind in slices.into_iter().chain([PROFILE]) {
            let listed = self.list_run(kind).await?;
            let objects = listed
                .iter()
                .map(|item| (kind, ObjectRef::of_value(item, kind.name())));
            remaining.extend(objects);
        }
        Ok(remaining)
    }

    /// Lists the objects with the label of the run in the namespaces of the testbed.
    async fn list_run(&self, kind: ObjectKind) -> Result<Vec<Value>, Failure> {
        let items = Arc::<Mutex<Vec<Value>>>::default();
        let selector = segment(&format!("{LABEL_RUN}={}", self.plan.run));
        for namespace in self.plan.namespaces() {
            if self.missing_namespaces.contains(&namespace) {
                continue;
            }
            let path = self.context.target.collection(kind, &namespace);
            let path = format!("{path}?labelSelector={selector}");
            let into = Arc::clone(&items);
            let each = move |json: &[u8]| into.lock().extend(serde_json::from_slice::<Value>(json));
            list(self.context.client, &path, each).await?;
        }
        Ok(std::mem::take(&mut *items.lock()))
    }
}

/// Whether spec and status are as stored. A consumer may set the display name.
fn is_unchanged(current: &Value, stored: &Value) -> bool {
    let spec = |profile: &Value| {
        let mut spec = profile["spec"].clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("displayName");
        }
        spec
    };
    current["status"] == stored["status"] && spec(current) == spec(stored)
}
