//! State that all scenarios of a run share: capabilities, steps taken, and what the watch has seen.

use std::{collections::HashSet, io, sync::Arc, time::Duration};

use evidence::{
    Driver, DriverAction, DriverStep, ObjectKey, ObjectRef, PlacementRequest, Scenario, StepOutcome, Tracked,
    api::{ObjectKind, PlacementDecision, Role},
};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    capabilities::Capabilities,
    hooks::{Call, Called, Member, Offered, undoes},
    journal::UndoEntry,
    member_pool::MemberPool,
    plan::{DriverPlan, Fleet},
    run_context::RunContext,
    writes::Writes,
};
use crate::{
    connect::failure::Failure,
    hub::permissions::written,
    watch::{record::Record, timeline},
};

/// Why a step was skipped or cut short.
pub(super) const STOPPED: &str = "the run was stopped";
/// Interval of looking for an answer in what the watch has brought.
const TICK: Duration = Duration::from_millis(250);
/// Part of the timeout for which a step goes on after its answer: 2 s of 2 min.
const SETTLE: u32 = 60;
/// How long the watch may take to bring what the run itself has written.
const DELIVERY: Duration = Duration::from_secs(10);

/// What all scenarios of a run share.
pub(super) struct Session<'a> {
    pub context: RunContext<'a>,
    pub plan: &'a DriverPlan,
    /// The roles that are judged, and whose objects the hub serves.
    roles: Vec<Role>,
    pub capabilities: Capabilities,
    pub stop: CancellationToken,
    pub pool: MemberPool,
    pub writes: Writes<'a>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    steps: Vec<DriverStep>,
    /// The uids of profiles that are known to be some member's of the run.
    claimed: HashSet<Arc<str>>,
    /// Whether one of these was known by what it tells of its member.
    profiles_tell: bool,
    /// Members that would not leave.
    stuck: Vec<StuckMember>,
    /// Placements that could not be taken back.
    stuck_placements: Vec<(PlacementRequest, Option<u64>)>,
    /// What could not be undone, for a person.
    leftovers: Vec<String>,
}

/// The write-ahead log cannot be written, so the step must not be taken.
#[derive(Debug, thiserror::Error)]
#[error("failed to write down how to undo it: {0}")]
pub(super) struct UndoNotRecorded(#[source] io::Error);

/// A member that would not leave.
pub(super) struct StuckMember {
    pub member: Member,
    /// Keeps the stand-in alive, where it is one.
    pub _stand_in: Option<Box<dyn Offered>>,
    /// Of its profile.
    pub uid: Option<Arc<str>>,
    pub undo: Option<u64>,
}

impl<'a> Session<'a> {
    /// A session in which nothing was done yet.
    pub fn new(context: RunContext<'a>, plan: &'a DriverPlan, stop: CancellationToken) -> Self {
        let serves = |role: &Role| *role == Role::Manager || context.target.placements.is_some();
        let mut roles = written(context.claim);
        roles.retain(serves);
        let scope = &context.scope.namespaces;
        Self {
            capabilities: Capabilities::of(plan, context.permissions, scope, &roles),
            roles,
            pool: MemberPool::new(plan),
            writes: Writes::new(context.client, context.target).noting(context.touched.clone()),
            state: Mutex::default(),
            stop,
            plan,
            context,
        }
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    /// What the watch has brought so far.
    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.context.record.lock()
    }

    /// Whether objects of that role are judged, and the hub serves them.
    pub fn judges(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// What the watch has brought of slices.
    pub fn slices(&self) -> MutexGuard<'_, Record<PlacementDecision>> {
        self.context.slices.lock()
    }

    /// Begins a step.
    pub fn begin(
        &self,
        scenario: Scenario,
        action: DriverAction,
        member: &str,
        profile: Option<ObjectRef>,
    ) -> DriverStep {
        let whom = if member.is_empty() { "" } else { " of " };
        self.context
            .progress
            .step(&format!("{}: {action}{whom}{member}", scenario.name()));
        let now = self.now();
        let patience = SignedDuration::try_from(self.plan.patience.with(action));
        DriverStep {
            scenario,
            action,
            member: member.to_owned(),
            profile,
            profile_after: None,
            from: now,
            until: now,
            outcome: StepOutcome::Done,
            patience_seconds: patience.unwrap_or(SignedDuration::MAX).as_secs(),
            looked_until: now,
            placement: None,
            slice: None,
            change: None,
            reacted: None,
            secrets_before: None,
            output: String::new(),
        }
    }

    /// Notes the outcome of a call in its step.
    pub fn did(&self, step: &mut DriverStep, called: Called) {
        step.until = self.now();
        step.looked_until = step.until;
        step.output = called.output;
        if let Some(reason) = called.failure {
            if !self.stop.is_cancelled() {
                let whom = if step.member.is_empty() { "" } else { " of " };
                let what = format!("{}{whom}{}", step.action, step.member);
                self.context.progress.warn(&format!("failed to {what}: {reason}"));
            }
            step.outcome = StepOutcome::Failed { reason };
        }
    }

    /// Notes a step that is over.
    pub fn end(&self, step: DriverStep) {
        self.state().steps.push(step);
    }

    /// Records a step that cannot be taken.
    pub fn skip_step(&self, step: DriverStep, reason: impl ToString) {
        self.end(refused(step, reason));
    }

    /// What stops the hook of an action: nothing if it undoes what another one did.
    pub fn stop_of(&self, action: DriverAction) -> CancellationToken {
        if undoes(action) {
            CancellationToken::new()
        } else {
            self.stop.clone()
        }
    }

    /// Creates an object as soon as its name is free.
    pub async fn create_once_free<F>(
        &self,
        within: Duration,
        retry: Duration,
        create: impl Fn() -> F,
    ) -> Result<ObjectRef, Failure>
    where
        F: Future<Output = Result<ObjectRef, Failure>>,
    {
        let deadline = self.after(within);
        loop {
            match create().await {
                Err(failure) if failure.code() == 409 && self.now() < deadline => self.pause(retry).await,
                outcome => return outcome,
            }
        }
    }

    /// Has the implementation act.
    pub async fn call(&self, call: Call<'_>, stop: CancellationToken) -> Called {
        if stop.is_cancelled() {
            return Called::failed(STOPPED);
        }
        self.plan.hooks.call(&call, stop).await
    }

    /// Waits for the answer to a step until its deadline, or until the run stops. Returns whether it was seen; a failed
    /// step has none. The watch may tell an answer late, so it waits a little longer than the deadline.
    pub async fn look(&self, step: &mut DriverStep, seen: impl FnMut(&Record) -> bool) -> bool {
        let late = step.deadline().saturating_add(timeline::BRIEF);
        self.look_until(late.unwrap_or(Timestamp::MAX), step, seen).await
    }

    /// Waits for the answer to a step until `deadline`.
    pub async fn look_until(
        &self,
        deadline: Timestamp,
        step: &mut DriverStep,
        mut seen: impl FnMut(&Record) -> bool,
    ) -> bool {
        self.look_for(deadline, step, || seen(&self.record())).await
    }

    /// Waits until `deadline` for an answer to a step that may be seen anywhere.
    pub async fn look_for(
        &self,
        deadline: Timestamp,
        step: &mut DriverStep,
        seen: impl FnMut() -> bool,
    ) -> bool {
        if step.outcome != StepOutcome::Done {
            return false;
        }
        let answered = self.wait_for(deadline, seen).await;
        if answered {
            step.reacted = Some(self.now());
            self.pause(self.plan.patience.with(step.action) / SETTLE).await;
        }
        step.looked_until = self.now();
        answered
    }

    /// Waits until the watch has brought something, the deadline is over or the run stops.
    pub async fn wait(&self, deadline: Timestamp, mut seen: impl FnMut(&Record) -> bool) -> bool {
        self.wait_for(deadline, || seen(&self.record())).await
    }

    async fn wait_for(&self, deadline: Timestamp, mut seen: impl FnMut() -> bool) -> bool {
        loop {
            if seen() {
                return true;
            }
            let left = deadline.duration_since(self.now());
            let left = Duration::try_from(left).unwrap_or_default();
            if left.is_zero() || self.stop.is_cancelled() {
                return false;
            }
            self.pause(TICK.min(left)).await;
        }
    }

    /// That much later than now.
    pub fn after(&self, duration: Duration) -> Timestamp {
        let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        self.now().saturating_add(duration).unwrap_or(Timestamp::MAX)
    }

    /// Lets a moment pass between two looks.
    pub async fn tick(&self) {
        sleep(TICK).await;
    }

    /// Lets time pass, unless the run is to stop.
    pub async fn pause(&self, duration: Duration) {
        select! {
            () = self.stop.cancelled() => {}
            () = sleep(duration) => {}
        }
    }

    /// Waits briefly for the watch to show a version that the run itself wrote: it is not a reaction.
    pub async fn delivered(&self, object: &ObjectRef) {
        let deadline = self.after(DELIVERY);
        if object.kind == ObjectKind::PlacementDecision.name() {
            self.wait_for(deadline, || shows(&self.slices(), object)).await;
        } else {
            self.wait_for(deadline, || shows(&self.record(), object)).await;
        }
    }

    /// Notes that a profile is a member's, so that no other member takes it for its own, and whether that was known by
    /// what it `tells`.
    pub fn claim(&self, uid: &Arc<str>, tells: bool) {
        let mut state = self.state();
        state.claimed.insert(Arc::clone(uid));
        state.profiles_tell |= tells;
    }

    /// Whether the implementation is known to make profiles that tell whose they are.
    pub fn profiles_tell(&self) -> bool {
        self.state().profiles_tell
    }

    /// The namespace of a profile that is known to be some member's of the run, and not in the run's own namespace.
    pub fn first_place(&self) -> Option<String> {
        let record = self.record();
        let state = self.state();
        let claimed = state.claimed.iter().filter_map(|uid| record.history(uid));
        let mut namespaces = claimed.map(|history| &*history.last().metadata.namespace);
        let namespace = namespaces.find(|namespace| Some(*namespace) != self.plan.own_namespace.as_deref());
        namespace.map(str::to_owned)
    }

    /// Whether a profile is known to be some member's of the run.
    pub fn is_claimed(&self, uid: &str) -> bool {
        self.state().claimed.contains(uid)
    }

    /// Records a change in the write-ahead log before it is made.
    pub fn record_undo(&self, undo: UndoEntry) -> Result<Option<u64>, UndoNotRecorded> {
        let Some(journal) = &self.plan.journal else {
            return Ok(None);
        };
        journal.record_undo(undo).map(Some).map_err(UndoNotRecorded)
    }

    /// It is undone.
    pub fn undone(&self, undo: Option<u64>) {
        if let (Some(journal), Some(number)) = (&self.plan.journal, undo) {
            journal.undone(number);
        }
    }

    /// Keeps a member that would not leave for a last attempt.
    pub fn stuck(&self, member: StuckMember) {
        self.state().stuck.push(member);
    }

    /// Keeps a placement that could not be taken back for a last attempt.
    pub fn stuck_placement(&self, placement: PlacementRequest, undo: Option<u64>) {
        self.state().stuck_placements.push((placement, undo));
    }

    /// Reports what could not be undone.
    pub fn report_leftover(&self, what: String) {
        self.state().leftovers.push(what);
    }

    /// Undoes what is left, and warns of what cannot be undone.
    pub async fn finish(self) -> Driver {
        let stuck = std::mem::take(&mut self.state().stuck);
        for member in stuck {
            self.leave_at_last(member).await;
        }
        let placements = std::mem::take(&mut self.state().stuck_placements);
        for (placement, undo) in placements {
            self.unplace_at_last(&placement, undo).await;
        }
        let state = self.state.into_inner();
        for what in &state.leftovers {
            self.context.progress.warn(what);
        }
        if let (false, Some(journal)) = (state.leftovers.is_empty(), &self.plan.journal) {
            self.context.progress.left_over(journal.path());
        }
        let mut steps = state.steps;
        steps.sort_by_key(|step| step.from);
        Driver {
            run: self.plan.run.clone(),
            stand_ins: matches!(self.plan.fleet, Fleet::StandIns(_))
                && steps.iter().any(|step| step.action == DriverAction::Join),
            able: self.capabilities.supported,
            lacking: self.capabilities.missing,
            steps,
            touched: self.context.touched.of(ObjectKind::ClusterProfile),
            touched_slices: self.context.touched.of(ObjectKind::PlacementDecision),
        }
    }

    /// Tries for the last time to have a member leave.
    async fn leave_at_last(&self, stuck: StuckMember) {
        let profile = stuck.uid.as_ref().and_then(|uid| {
            let record = self.record();
            let profile = record.history(uid)?.current()?;
            Some(ObjectKey::from(&ObjectRef::from(profile)))
        });
        let call = Call {
            member: Some(&stuck.member),
            profile,
            ..Call::of(DriverAction::Leave)
        };
        match self.call(call, CancellationToken::new()).await.failure {
            None => self.undone(stuck.undo),
            Some(reason) => self.report_leftover(format!(
                "the member {} is still joined: {reason}",
                stuck.member.name
            )),
        }
    }

    /// Tries for the last time to take a placement back.
    async fn unplace_at_last(&self, placement: &PlacementRequest, undo: Option<u64>) {
        let call = Call {
            placement: Some(placement),
            ..Call::of(DriverAction::Unplace)
        };
        match self.call(call, CancellationToken::new()).await.failure {
            None => self.undone(undo),
            Some(reason) => self.report_leftover(format!(
                "the placement {} was not taken back: {reason}",
                placement.name
            )),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Whether the watch has shown that version of an object.
fn shows<T: Tracked>(record: &Record<T>, object: &ObjectRef) -> bool {
    record.history(&object.uid).is_some_and(|history| {
        let mut versions = history.versions.iter().rev();
        versions.any(|version| version.object.metadata().resource_version == object.resource_version)
    })
}

/// A step that cannot be taken.
pub(super) fn refused(mut step: DriverStep, reason: impl ToString) -> DriverStep {
    step.outcome = StepOutcome::Failed {
        reason: reason.to_string(),
    };
    step
}
