//! Deletes what was published.

use std::time::Duration;

use evidence::{DriverAction, ObjectRef, api::ObjectKind};

use super::{Profile, Session, TICK, after};

const KIND: ObjectKind = ObjectKind::ClusterProfile;

impl Session<'_> {
    /// Deletes a profile before the end.
    pub async fn withdraw(&self, profile: &Profile) {
        self.forget(profile);
        self.deselect(profile).await;
        self.delete(KIND, &profile.object, profile.undo).await;
    }

    fn forget(&self, profile: &Profile) {
        let mut state = self.state();
        state
            .published
            .retain(|published| published.object.uid != profile.object.uid);
        state.withdrawn.push(profile.clone());
    }

    /// Deletes all decisions and profiles of the testbed. A person is told of what cannot be deleted.
    pub async fn clear(&self) {
        let published = std::mem::take(&mut self.state().published);
        let mut is_clear = self.clear_decisions().await;
        for profile in &published {
            is_clear &= self.delete(KIND, &profile.object, profile.undo).await;
        }
        let withdrawn = std::mem::take(&mut self.state().withdrawn);
        is_clear &= self
            .release(published.into_iter().chain(withdrawn).collect())
            .await;
        if let (false, Some(journal)) = (is_clear, &self.plan.journal) {
            self.context.progress.left_over(journal.path());
        }
    }

    /// Deletes an object. False if the hub does not.
    pub async fn delete(&self, kind: ObjectKind, object: &ObjectRef, undo: Option<u64>) -> bool {
        if let Err(failure) = self.writes.delete(kind, object).await {
            self.warn(&format!("{object} of the run's own is still there: {failure}"));
            return false;
        }
        self.undone(undo);
        true
    }

    /// Writes down that something is undone.
    pub(super) fn undone(&self, undo: Option<u64>) {
        if let (Some(journal), Some(number)) = (&self.plan.journal, undo) {
            journal.undone(number);
        }
    }

    /// Waits until a profile that was deleted is gone, for as long as the consumer may take to let it go.
    pub async fn until_gone(&self, profile: &Profile) {
        self.still_there(vec![profile.clone()], self.settle()).await;
    }

    /// Whether a profile that was deleted waits for its finalizers. What the hub does not tell counts as gone.
    async fn is_there(&self, profile: &Profile) -> bool {
        self.writes.is_there(KIND, &profile.object).await.unwrap_or(false)
    }

    /// Takes the finalizers off profiles that were deleted, where a consumer does not: the hub is to be as it was. False if the hub
    /// refuses that.
    async fn release(&self, deleted: Vec<Profile>) -> bool {
        let calls = &self.state().hook_calls.clone();
        let is_uninstalled = calls.iter().any(|call| call.action == DriverAction::Uninstall);
        let patience = if is_uninstalled {
            Duration::ZERO
        } else {
            self.settle()
        };
        let held = self.still_there(deleted, patience).await;
        let Some((first, others)) = held.split_first() else {
            return true;
        };
        let others = match others.len() {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        self.warn(&format!(
            "{}{others}: deleted by the run, which created them, and held by finalizers: the run takes these off",
            first.object
        ));
        let mut is_clear = true;
        for profile in &held {
            if let Err(failure) = self.writes.release(KIND, &profile.object).await {
                self.warn(&format!("{} is still there: {failure}", profile.object));
                is_clear = false;
            }
        }
        is_clear
    }

    /// Which of these are still there when all had that long to go.
    async fn still_there(&self, mut deleted: Vec<Profile>, patience: Duration) -> Vec<Profile> {
        let deadline = after(self.now(), patience);
        loop {
            let mut held = Vec::new();
            for profile in deleted {
                if self.is_there(&profile).await {
                    held.push(profile);
                }
            }
            if held.is_empty() || self.now() >= deadline || self.is_stopped() {
                return held;
            }
            deleted = held;
            self.pause(TICK).await;
        }
    }
}
