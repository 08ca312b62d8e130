//! Watches the slices of decisions beside the profiles.

use evidence::Window;
use jiff::Timestamp;

use super::{
    state::Run,
    watches::{Slices, Watches},
};
use crate::{
    hub::error::CollectError,
    watch::{memory_budget::MemoryBudget, seen::add_slices, timeline},
};

impl Run<'_> {
    /// Lists the slices, if decisions are judged.
    ///
    /// # Errors
    /// When the hub refuses.
    pub(super) async fn slices(&self) -> Result<Slices, CollectError> {
        let Some(target) = &self.target.placements else {
            return Ok(Slices::default());
        };
        self.progress.phase("listing placement decisions");
        let record = timeline::Shared::default();
        record.lock().memory = MemoryBudget::of_window(self.plan.observe);
        let mut watches = Watches(self.watches(&record, |namespace| target.slices(namespace)));
        let mut unlisted = None;
        for watch in &mut watches.0 {
            match self.patience.within(self.patience.list, watch.start()).await {
                Ok(Ok(())) => {}
                Ok(Err(failure)) if failure.is_silence() => unlisted = Some(failure.to_string()),
                Ok(Err(failure)) => {
                    let scope = &self.plan.scope.namespaces;
                    return Err(CollectError::of_slices(&failure, &self.hub.source, scope));
                }
                Err(unfinished) => unlisted = Some(unfinished.to_string()),
            }
        }
        Ok(Slices {
            unlisted,
            watches,
            record,
        })
    }

    /// Compares lists with what the watches of slices have brought, as for profiles, and ends them.
    pub(super) async fn confirm_slices(&self, slices: &mut Slices, ended: Timestamp) {
        if slices.unlisted.is_none() {
            let confirming = slices.watches.confirm();
            if let Err(late) = self.patience.at_last(self.patience.list, confirming).await {
                slices.watches.doubt(&late, ended);
            }
        }
        slices.watches.finish(ended);
    }

    /// Puts the slices into the evidence.
    pub(super) fn sliced(&mut self, slices: &Slices, window: Window) {
        if self.target.placements.is_none() {
            return;
        }
        let recorded = slices.record.lock().take();
        add_slices(&mut self.evidence, recorded, slices.unlisted.as_deref(), window);
    }
}
