//! A placement for one scenario: the run requests clusters from the scheduler, and always takes the request back.

use evidence::{
    DriverAction, DriverStep, ObjectKey, ObjectRef, PlacementRequest, Scenario,
    api::{ObjectKind, PlacementDecision},
};

use super::{HookRequest, STOPPED, Session, UndoEntry};

pub(super) struct ScenarioPlacement {
    scenario: Scenario,
    request: PlacementRequest,
    slices_before: usize,
    /// Whether the scheduler may know it.
    is_requested: bool,
}

impl ScenarioPlacement {
    pub fn new(session: &Session<'_>, scenario: Scenario) -> Self {
        Self {
            scenario,
            request: PlacementRequest {
                name: session.pool.name(),
                ..PlacementRequest::default()
            },
            slices_before: session.slices().len(),
            is_requested: false,
        }
    }

    pub fn begin(&self, session: &Session<'_>, action: DriverAction) -> DriverStep {
        let mut step = session.begin(self.scenario, action, "", None);
        step.placement = Some(self.request.clone());
        step
    }

    /// Requests clusters, and waits until its slices hold them. Returns whether they do.
    pub async fn request(&mut self, session: &Session<'_>, action: DriverAction, clusters: usize) -> bool {
        self.request.clusters = clusters;
        let mut step = self.begin(session, action);
        if !self.is_requested {
            if session.context.is_stopped() {
                session.skip_step(step, STOPPED);
                return false;
            }
            let undo = UndoEntry::hook(DriverAction::Unplace, &self.request.name);
            if let Err(reason) = session.record_undo(undo) {
                session.skip_step(step, reason);
                return false;
            }
            self.is_requested = true;
        }
        self.call(session, &mut step).await;
        let is_met = |slices: &[&PlacementDecision]| self.request.is_met_by(slices);
        let is_placed = self.observe(session, &mut step, is_met).await;
        session.end(step);
        is_placed
    }

    async fn call(&mut self, session: &Session<'_>, step: &mut DriverStep) {
        let call = HookRequest {
            placement: Some(&self.request),
            ..HookRequest::of(step.action)
        };
        let mut called = session.call(call).await;
        if let Some(decision) = called.decision.take()
            && step.action != DriverAction::Unplace
        {
            self.request.decision = Some(decision);
            step.placement = Some(self.request.clone());
        }
        session.did(step, called);
    }

    /// Waits until its slices are as expected. A late reaction counts: only a slice that never comes is missing.
    async fn observe(
        &self,
        session: &Session<'_>,
        step: &mut DriverStep,
        is_met: impl Fn(&[&PlacementDecision]) -> bool,
    ) -> bool {
        let deadline = step.last_deadline();
        let is_met = || self.with_slices(session, |slices| is_met(slices));
        session.observe(step, deadline, is_met).await
    }

    /// Waits until its slices hold the clusters again, without a slice that the step deleted.
    pub async fn observe_restored(&self, session: &Session<'_>, step: &mut DriverStep) {
        let slice_uid = step.slice.as_ref().map(|slice| slice.uid.clone());
        let deleted = slice_uid.filter(|_| step.action == DriverAction::DeleteSlice);
        let is_restored = |slices: &[&PlacementDecision]| {
            let mut uids = slices.iter().map(|slice| &*slice.metadata.uid);
            self.request.is_met_by(slices) && !uids.any(|uid| Some(uid) == deleted.as_deref())
        };
        self.observe(session, step, is_restored).await;
    }

    /// Takes the request back, even after a failed step, and waits until no slice is left.
    pub async fn unplace(mut self, session: &Session<'_>) {
        if !self.is_requested {
            return;
        }
        let mut step = self.begin(session, DriverAction::Unplace);
        self.call(session, &mut step).await;
        self.observe(session, &mut step, |slices| slices.is_empty()).await;
        session.end(step);
    }

    /// Its first slice that holds clusters, if the run may write to it: it was created later. From then on, its decision
    /// is not the scheduler's work alone.
    pub fn take_slice(&self, session: &Session<'_>) -> Option<ObjectRef> {
        let (slice, keys) = self.with_slices(session, |slices| {
            let filled = slices.iter().find(|slice| !slice.clusters().is_empty());
            let keys: Vec<ObjectKey> = slices.iter().map(|slice| ObjectKey::of(*slice)).collect();
            filled.map(|slice| (ObjectRef::from(*slice), keys))
        })?;
        let is_new = {
            let record = session.slices();
            let mut new = record.after(self.slices_before).iter();
            new.any(|history| *history.last().metadata.uid == *slice.uid)
        };
        if !is_new {
            return None;
        }
        for key in keys {
            session.writes.touch(ObjectKind::PlacementDecision, key);
        }
        session.writes.allow(&slice);
        Some(slice)
    }

    fn with_slices<R>(&self, session: &Session<'_>, read: impl FnOnce(&[&PlacementDecision]) -> R) -> R {
        let record = session.slices();
        let slices = self.request.slices(record.after(0), session.context.scope);
        let current = slices.histories.iter().filter_map(|history| history.current());
        let mut current: Vec<&PlacementDecision> = current
            .filter(|slice| slices.hold(slice))
            // A deleted slice that waits for its finalizers is no longer a part of the decision.
            .filter(|slice| slice.metadata.deletion_timestamp.is_none())
            .collect();
        current.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        read(&current)
    }
}
