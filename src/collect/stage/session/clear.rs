//! Deletes what was published.

use evidence::api::ObjectKind;

use super::{Profile, Session};

impl Session<'_> {
    /// Deletes a profile before the end.
    pub async fn withdraw(&self, profile: &Profile) {
        self.state()
            .published
            .retain(|published| published.object.uid != profile.object.uid);
        self.delete(profile).await;
    }

    /// Deletes all profiles of the stage. A person is told of what cannot be deleted.
    pub async fn clear(&self) {
        let published = std::mem::take(&mut self.state().published);
        let mut is_clear = true;
        for profile in published {
            is_clear &= self.delete(&profile).await;
        }
        if let (false, Some(journal)) = (is_clear, &self.plan.journal) {
            self.context.progress.left_over(journal.path());
        }
    }

    /// Deletes a profile. False if the hub does not.
    async fn delete(&self, profile: &Profile) -> bool {
        let kind = ObjectKind::ClusterProfile;
        if let Err(failure) = self.writes.delete(kind, &profile.object).await {
            self.warn(&format!(
                "{} of the run's own is still there: {failure}",
                profile.object
            ));
            return false;
        }
        if let (Some(journal), Some(number)) = (&self.plan.journal, profile.undo) {
            journal.undone(number);
        }
        true
    }
}
