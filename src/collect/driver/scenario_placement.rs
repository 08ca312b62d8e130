//! A placement for one scenario: the scheduler is asked for clusters, and the request is always taken back.

use evidence::{
    DriverAction, DriverStep, ObjectKey, ObjectRef, PlacementRequest, Scenario, StepOutcome,
    api::{ObjectKind, PlacementDecision},
    runs::names_placement,
};

use super::{
    hooks::Call,
    journal::UndoEntry,
    session::{STOPPED, Session},
};

/// A placement for one scenario.
pub(super) struct ScenarioPlacement {
    scenario: Scenario,
    request: PlacementRequest,
    /// Number of slices before it was asked for.
    seen_before: usize,
    /// Whether the scheduler may know it.
    is_known: bool,
    undo: Option<u64>,
}

impl ScenarioPlacement {
    /// A placement that is not requested yet.
    pub fn new(session: &Session<'_>, scenario: Scenario) -> Self {
        Self {
            scenario,
            request: PlacementRequest {
                name: session.pool.name(),
                ..PlacementRequest::default()
            },
            seen_before: session.slices().len(),
            is_known: false,
            undo: None,
        }
    }

    /// Begins a step with this placement.
    pub fn begin(&self, session: &Session<'_>, action: DriverAction) -> DriverStep {
        let mut step = session.begin(self.scenario, action, "", None);
        step.placement = Some(self.request.clone());
        step
    }

    /// Asks for clusters and waits until its slices hold them. Returns whether they do.
    pub async fn place(&mut self, session: &Session<'_>, clusters: usize) -> bool {
        self.request.clusters = clusters;
        let step = self.begin(session, DriverAction::Place);
        if session.stop.is_cancelled() {
            session.skip_step(step, STOPPED);
            return false;
        }
        let undo = UndoEntry::Placement {
            name: self.request.name.clone(),
        };
        match session.record_undo(undo) {
            Ok(undo) => self.undo = undo,
            Err(reason) => {
                session.skip_step(step, reason);
                return false;
            }
        }
        self.is_known = true;
        self.ask(session, step).await
    }

    /// Asks for another number of clusters, in the same way.
    pub async fn reschedule(&mut self, session: &Session<'_>, clusters: usize) -> bool {
        self.request.clusters = clusters;
        let step = self.begin(session, DriverAction::Reschedule);
        self.ask(session, step).await
    }

    async fn ask(&mut self, session: &Session<'_>, mut step: DriverStep) -> bool {
        let call = Call {
            placement: Some(&self.request),
            ..Call::of(step.action)
        };
        let called = session.call(call, session.stop.clone()).await;
        if let Some(decision) = &called.decision {
            self.request.decision = Some(decision.clone());
            step.placement = Some(self.request.clone());
        }
        session.did(&mut step, called);
        let answered = self
            .look(session, &mut step, |slices| self.request.is_met_by(slices))
            .await;
        session.end(step);
        answered
    }

    /// Waits until its slices are as wanted. What is late is waited for too: only what never comes is missing.
    pub async fn look(
        &self,
        session: &Session<'_>,
        step: &mut DriverStep,
        wanted: impl Fn(&[&PlacementDecision]) -> bool,
    ) -> bool {
        let last = step.last_deadline();
        session
            .look_for(last, step, || self.with_slices(session, |slices| wanted(slices)))
            .await
    }

    /// Takes the request back, even after a failed step, and waits until no slice is left.
    pub async fn unplace(self, session: &Session<'_>) {
        if !self.is_known {
            return;
        }
        let mut step = self.begin(session, DriverAction::Unplace);
        let call = Call {
            placement: Some(&self.request),
            ..Call::of(DriverAction::Unplace)
        };
        let called = session.call(call, session.stop_of(DriverAction::Unplace)).await;
        session.did(&mut step, called);
        let is_done = step.outcome == StepOutcome::Done;
        self.look(session, &mut step, |slices| slices.is_empty()).await;
        session.end(step);
        if is_done {
            session.undone(self.undo);
        } else {
            session.stuck_placement(self.request, self.undo);
        }
    }

    /// Its first slice that holds clusters, if the run may write to it: it was not there before. From then on, its
    /// decision is not the scheduler's work alone.
    pub fn take_slice(&self, session: &Session<'_>) -> Option<ObjectRef> {
        let slice = self.with_slices(session, |slices| {
            let mut filled = slices.iter().filter(|slice| !slice.clusters().is_empty());
            filled.next().map(|slice| ObjectRef::from(*slice))
        })?;
        let is_new = {
            let record = session.slices();
            let mut since = record.after(self.seen_before).iter();
            since.any(|history| *history.last().metadata.uid == *slice.uid)
        };
        if !is_new {
            return None;
        }
        let all = self.with_slices(session, |slices| -> Vec<ObjectKey> {
            slices.iter().map(|slice| ObjectKey::of(*slice)).collect()
        });
        all.into_iter()
            .for_each(|key| session.writes.touch(ObjectKind::PlacementDecision, key));
        session.writes.allow(&slice);
        Some(slice)
    }

    /// Whether its slices hold what was asked for.
    pub fn is_met_by(&self, slices: &[&PlacementDecision]) -> bool {
        self.request.is_met_by(slices)
    }

    /// Looks at its slices that exist now.
    fn with_slices<R>(&self, session: &Session<'_>, look: impl FnOnce(&[&PlacementDecision]) -> R) -> R {
        let record = session.slices();
        let slices = self.request.slices(record.after(0), session.context.scope);
        let there = slices.histories.iter().filter_map(|history| history.current());
        let there = there.filter(|slice| slices.hold(slice));
        // What is deleted and waits for its finalizers is no part of the decision any more.
        let staying = there.filter(|slice| slice.metadata.deletion_timestamp.is_none());
        let mut there: Vec<&PlacementDecision> = staying.collect();
        there.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        look(&there)
    }
}

/// The namespace of a slice of any placement of the run.
pub(super) fn first_place(session: &Session<'_>) -> Option<String> {
    let mine = |slice: &PlacementDecision| names_placement(slice, &session.plan.run);
    place_of(session, mine)
}

/// The namespace of any slice that is judged.
pub(super) fn any_place(session: &Session<'_>) -> Option<String> {
    place_of(session, |_| true)
}

fn place_of(session: &Session<'_>, wanted: impl Fn(&PlacementDecision) -> bool) -> Option<String> {
    let scope = session.context.scope;
    let record = session.slices();
    let mut there = record.after(0).iter().filter_map(|history| history.current());
    let slice = there.find(|slice| scope.holds_slice(slice) && wanted(slice))?;
    Some(slice.metadata.namespace.to_string())
}
