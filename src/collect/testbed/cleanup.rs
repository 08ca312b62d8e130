//! Deletes what the run published, by the label of the run, and notices what other clients did to it.

use std::time::Duration;

use evidence::{
    DriverAction, ObjectKey, ObjectRef, Published,
    api::{ObjectKind, names::KIND},
};
use serde_json::Value;

use super::{
    player::{Player, TICK},
    publish::{Deletion, PublishedProfile},
};
use crate::{
    connect::RequestFailure,
    driver::{UndoEntry, list_labelled},
};

const PROFILE: ObjectKind = ObjectKind::ClusterProfile;

impl Player<'_> {
    pub(super) fn undo_entry(&self) -> UndoEntry {
        UndoEntry::Objects {
            namespaces: self.plan.namespaces(),
        }
    }

    /// Deletes a profile, and waits until it is gone unless the consumer is stopped.
    pub(super) async fn delete(&mut self, key: &str) {
        self.close_expectations(key, self.context.now());
        self.close_rivals(key);
        let Some(object) = self.profiles.get(key).map(|profile| profile.object()) else {
            return;
        };
        self.undecide_first(&ObjectKey::from(&object)).await;
        let is_deleted = self.delete_object(&object).await;
        let answered = self.context.now();
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
    pub(super) async fn delete_object(&mut self, object: &ObjectRef) -> bool {
        let sent = self.context.now();
        if let Err(failure) = self.writes.delete(object).await {
            self.warn(&format!("the API server does not delete {object}: {failure}"));
            return false;
        }
        let (state, is_gone) = match self.writes.finalizers(object).await {
            Ok(Some(finalizers)) => (Published::Terminating { finalizers }, false),
            _ => (Published::Deleted {}, true),
        };
        self.record(ObjectKey::from(object), sent, state);
        is_gone
    }

    /// Waits for the settle time until deleted profiles are gone, and records which are.
    pub(super) async fn wait_for_deletions(&mut self) {
        let deadline = self.context.after(self.settle());
        while self.are_terminating().await && self.context.now() < deadline && !self.context.is_stopped() {
            self.context.pause(TICK).await;
        }
    }

    /// Whether finalizers hold deleted profiles. Records which are gone.
    async fn are_terminating(&mut self) -> bool {
        let mut are_held = false;
        for key in self.keys_of(|profile| profile.deletion == Deletion::Terminating) {
            let (object, sent) = (self.profiles[&key].object(), self.context.now());
            if !matches!(self.writes.finalizers(&object).await, Ok(None)) {
                are_held = true;
                continue;
            }
            self.record(ObjectKey::from(&object), sent, Published::Deleted {});
            let gone_at = self.context.now();
            if let Some(profile) = self.profiles.get_mut(&key) {
                profile.deletion = Deletion::Deleted(gone_at);
            }
        }
        are_held
    }

    /// Lists the profiles of the run, and voids the expectations on those that another client has changed.
    pub(super) async fn check_profiles(&mut self) {
        self.are_terminating().await;
        let profiles = match self.list_profiles().await {
            Ok(profiles) => profiles,
            Err(failure) => return self.warn(&format!("cannot list the {KIND}s of the run: {failure}")),
        };
        let is_as_stored = |profile: &PublishedProfile| {
            let mut current = profiles.iter();
            current.any(|item| {
                item["metadata"]["uid"] == *profile.object().uid && is_unchanged(item, &profile.stored)
            })
        };
        let is_changed =
            |profile: &PublishedProfile| profile.deletion == Deletion::NotDeleted && !is_as_stored(profile);
        for key in self.keys_of(is_changed) {
            self.void_expectations(&key);
        }
    }

    /// Deletes all profiles and slices of the run, after the consumer had the time to remove its finalizers.
    pub(super) async fn clean_up(&self) {
        let patience = match self.last_hook() {
            Some(DriverAction::Uninstall) => Duration::ZERO,
            _ => self.settle(),
        };
        let namespaces = self.plan.namespaces();
        let is_stopped = || self.context.is_stopped();
        let deleting = self.writes.delete_created(&namespaces, patience, is_stopped);
        let (deleted, outcome) = deleting.await;
        let remaining = deleted.iter().filter(|object| !object.finalizers.is_empty());
        remaining.for_each(|object| self.warn(&object.to_string()));
        match outcome {
            Ok(()) => self.plan.journal.undone(&self.undo_entry()),
            Err(failure) => {
                self.warn(&format!("failed to delete the objects of the run: {failure}"));
                if let Some(path) = self.plan.journal.path() {
                    self.context.progress.left_over(path);
                }
            }
        }
    }

    async fn list_profiles(&self) -> Result<Vec<Value>, RequestFailure> {
        let (client, target) = (&self.context.client, &self.context.target);
        let mut profiles = Vec::new();
        for namespace in self.plan.namespaces() {
            let run = Some(&*self.plan.run);
            profiles.extend(list_labelled(client, target, PROFILE, &namespace, run).await?);
        }
        Ok(profiles)
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
