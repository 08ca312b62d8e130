//! State that all scenarios of a run share: capabilities, steps taken, changes to undo, and what the watch has brought.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    mem,
    sync::Arc,
    time::Duration,
};

use evidence::{
    Driver, DriverAction, DriverStep, ObjectRef, Reason, Scenario, StepOutcome, Tracked,
    api::{ClusterProfile, ObjectKind, PlacementDecision, Role},
};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    Called, DriverPlan, DriverWrites, HookRequest, MemberPool, ScenarioMember, UndoEntry, call_undo,
    capabilities, kind_of, undoes,
};
use crate::{
    clock::later,
    run::context::RunContext,
    watch::{HistoryRecord, timeline},
};

pub(super) const STOPPED: &str = "the run was stopped";
const TICK: Duration = Duration::from_millis(250);
/// Part of the timeout for which a step continues after the reaction: 2 s of 2 min.
const SETTLE: u32 = 60;
/// How long the watch may take to bring what the run itself has written.
const DELIVERY: Duration = Duration::from_secs(10);

pub(super) struct Session<'a> {
    pub context: &'a RunContext<'a>,
    pub plan: &'a DriverPlan,
    /// The profiles and the slices that the watch has brought so far.
    profiles: &'a timeline::Shared,
    slices: &'a timeline::Shared<PlacementDecision>,
    roles: Vec<Role>,
    supported: BTreeSet<DriverAction>,
    /// Why the run cannot do the other actions.
    missing: BTreeMap<DriverAction, Reason>,
    pub pool: MemberPool,
    /// For the hooks of a fleet that may run at the same time.
    pub turns: Semaphore,
    pub writes: DriverWrites<'a>,
    pub state: Mutex<SessionState>,
}

#[derive(Default)]
pub(super) struct SessionState {
    steps: Vec<DriverStep>,
    /// The uids of profiles that are known to be a member's of the run.
    claimed: HashSet<Arc<str>>,
    /// Whether one of these was recognized by its content.
    pub profiles_name_members: bool,
    /// Members that failed to leave, with their API servers: their hooks are called again at the end of the run.
    pub stuck: Vec<ScenarioMember>,
}

impl<'a> Session<'a> {
    pub fn new(
        context: &'a RunContext<'a>,
        plan: &'a DriverPlan,
        profiles: &'a timeline::Shared,
        slices: &'a timeline::Shared<PlacementDecision>,
    ) -> Self {
        let serves = |role: &Role| match role {
            Role::Manager => true,
            Role::Scheduler => context.target.has_placements(),
            Role::Consumer => false,
        };
        let roles: Vec<Role> = context.claim.roles().filter(serves).collect();
        let scope = &context.scope.namespaces;
        let (supported, missing) = capabilities(plan, &context.permissions, scope, &roles);
        let at_once = plan.file.scale.at_once;
        Self {
            supported,
            missing,
            roles,
            pool: MemberPool::new(plan),
            turns: Semaphore::new(at_once.min(Semaphore::MAX_PERMITS)),
            writes: DriverWrites::new(
                &context.client,
                &context.target,
                &plan.run,
                context.touched.clone(),
            ),
            state: Mutex::default(),
            plan,
            profiles,
            slices,
            context,
        }
    }

    pub fn record(&self) -> MutexGuard<'_, HistoryRecord> {
        self.profiles.lock()
    }

    pub fn slices(&self) -> MutexGuard<'_, HistoryRecord<PlacementDecision>> {
        self.slices.lock()
    }

    /// Whether objects of that role are judged, and the hub serves them.
    pub fn judges(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    pub fn can(&self, actions: &[DriverAction]) -> bool {
        actions.iter().all(|action| self.supported.contains(action))
    }

    pub fn begin(
        &self,
        scenario: Scenario,
        action: DriverAction,
        member: &str,
        profile: Option<ObjectRef>,
    ) -> DriverStep {
        let message = format!("{}: {}", scenario.name(), describe(action, member));
        self.context.progress.step(&message);
        let patience = self.plan.file.patience_with(action).as_secs();
        DriverStep {
            member: member.to_owned(),
            profile,
            patience_seconds: patience.try_into().unwrap_or(i64::MAX),
            ..DriverStep::new(scenario, action, self.context.now())
        }
    }

    /// Records the outcome of a call in its step.
    pub fn did(&self, step: &mut DriverStep, called: Called) {
        step.until = self.context.now();
        step.observed_until = step.until;
        step.output = called.output;
        if let Some(reason) = called.failure {
            if !self.context.is_stopped() {
                let what = describe(step.action, &step.member);
                self.context.progress.warn(&format!("failed to {what}: {reason}"));
            }
            step.outcome = StepOutcome::Failed { reason };
        }
    }

    pub fn end(&self, step: DriverStep) {
        self.state.lock().steps.push(step);
    }

    pub fn skip_step(&self, mut step: DriverStep, reason: impl ToString) {
        fail(&mut step, reason);
        self.end(step);
    }

    /// Calls a hook, unless the run is stopped; also then if it undoes what another hook did.
    pub async fn call(&self, call: HookRequest<'_>) -> Called {
        let stop = if undoes(call.action) {
            CancellationToken::new()
        } else {
            self.context.stop.clone()
        };
        if stop.is_cancelled() {
            return Called::failed(STOPPED);
        }
        let called = self.plan.hooks.call(&call, stop).await;
        if called.failure.is_none() {
            let undone = UndoEntry::hook(call.action, call.name());
            self.plan.journal.undone(&undone);
        }
        called
    }

    /// Waits for the reaction to a step until `deadline`, or until the run stops. Returns whether it came; a failed step
    /// has none.
    pub async fn observe(
        &self,
        step: &mut DriverStep,
        deadline: Timestamp,
        has_reacted: impl FnMut() -> bool,
    ) -> bool {
        if step.outcome != StepOutcome::Done {
            return false;
        }
        let has_reacted = self.wait_until(deadline, has_reacted).await;
        if has_reacted {
            step.reacted_at = Some(self.context.now());
            self.context
                .pause(self.plan.file.patience_with(step.action) / SETTLE)
                .await;
        }
        step.observed_until = self.context.now();
        has_reacted
    }

    /// Waits until the condition is met, the deadline is over or the run stops. Returns whether it is met.
    pub async fn wait_until(&self, deadline: Timestamp, mut is_met: impl FnMut() -> bool) -> bool {
        loop {
            if is_met() {
                return true;
            }
            let wait = Duration::try_from(deadline.duration_since(self.context.now())).unwrap_or_default();
            if wait.is_zero() || self.context.is_stopped() {
                return false;
            }
            self.context.pause(TICK.min(wait)).await;
        }
    }

    /// Waits briefly for the watch to show a version that the run itself wrote: it is not a reaction.
    pub async fn delivered(&self, object: &ObjectRef) {
        let deadline = self.context.after(DELIVERY);
        if kind_of(object) == ObjectKind::PlacementDecision {
            self.wait_until(deadline, || shows(&self.slices(), object)).await;
        } else {
            self.wait_until(deadline, || shows(&self.record(), object)).await;
        }
    }

    /// Records that a profile is a member's, so that no other member gets it, and whether its content shows that.
    pub fn claim(&self, uid: &Arc<str>, names_member: bool) {
        let mut state = self.state.lock();
        state.claimed.insert(Arc::clone(uid));
        state.profiles_name_members |= names_member;
    }

    pub fn is_claimed(&self, uid: &str) -> bool {
        self.state.lock().claimed.contains(uid)
    }

    /// Whether the run's own namespace has a profile of a member that the run did not join.
    pub fn has_other_profiles(&self, namespace: &str) -> bool {
        let is_other = |profile: &ClusterProfile| {
            &*profile.metadata.namespace == namespace && !self.is_claimed(&profile.metadata.uid)
        };
        let record = self.record();
        let mut current = record.after(0).iter().filter_map(|history| history.current());
        current.any(is_other)
    }

    /// Records how to undo a change before it is made. The step must not be taken if this fails.
    pub fn record_undo(&self, entry: UndoEntry) -> Result<(), String> {
        let recorded = self.plan.journal.record_undo(entry);
        recorded.map_err(|error| format!("failed to write down how to undo it: {error}"))
    }

    /// Undoes those of these changes that are pending, the last first. A hook gets what is known of its member if that is
    /// one of `members`. Returns why some changes are left.
    pub async fn undo(&self, changes: &[UndoEntry], members: &[ScenarioMember]) -> Vec<String> {
        let mut reasons = Vec::new();
        let mut pending = self.plan.journal.pending();
        pending.retain(|entry| changes.contains(entry));
        for entry in pending.iter().rev() {
            match self.undo_entry(entry, members).await {
                Ok(()) => self.plan.journal.undone(entry),
                Err(reason) => reasons.push(format!("failed to {entry}: {reason}")),
            }
        }
        reasons
    }

    async fn undo_entry(&self, entry: &UndoEntry, members: &[ScenarioMember]) -> Result<(), String> {
        match entry {
            UndoEntry::Hook { action, name } => {
                let called = match members.iter().find(|member| member.name() == name) {
                    Some(member) => member.call(self, *action, None).await,
                    None => call_undo(&*self.plan.hooks, &self.plan.file.members, *action, name).await,
                };
                called.failure.map_or(Ok(()), Err)
            }
            UndoEntry::Namespace { name } if self.has_other_profiles(name) => {
                Err("it has profiles of other members".to_owned())
            }
            entry => {
                let undone = self.writes.undo(entry).await;
                undone.map(drop).map_err(|failure| failure.to_string())
            }
        }
    }

    /// Undoes all that is left, and warns of what cannot be undone.
    pub async fn finish(self) -> Driver {
        let stuck = mem::take(&mut self.state.lock().stuck);
        let reasons = self.undo(&self.plan.journal.pending(), &stuck).await;
        for reason in &reasons {
            self.context.progress.warn(reason);
        }
        if let (false, Some(path)) = (reasons.is_empty(), self.plan.journal.path()) {
            self.context.progress.left_over(path);
        }
        let mut steps = self.state.into_inner().steps;
        steps.sort_by_key(|step| step.from);
        Driver {
            run: self.plan.run.clone(),
            fake_members: self.plan.offer.is_some()
                && steps.iter().any(|step| step.action == DriverAction::Join),
            available_actions: self.supported,
            unavailable_actions: self.missing,
            steps,
            written_profiles: self.context.touched.of(ObjectKind::ClusterProfile),
            written_slices: self.context.touched.of(ObjectKind::PlacementDecision),
        }
    }
}

fn describe(action: DriverAction, member: &str) -> String {
    if member.is_empty() {
        return action.to_string();
    }
    format!("{action} of {member}")
}

/// The end of the observation of a step: the watch may report a reaction late.
pub(super) fn late_deadline(step: &DriverStep) -> Timestamp {
    later(step.deadline(), timeline::BRIEF.unsigned_abs())
}

fn shows<T: Tracked>(record: &HistoryRecord<T>, object: &ObjectRef) -> bool {
    record.history(&object.uid).is_some_and(|history| {
        let mut versions = history.versions.iter().rev();
        versions.any(|version| version.object.metadata().resource_version == object.resource_version)
    })
}

pub(super) fn fail(step: &mut DriverStep, reason: impl ToString) {
    step.outcome = StepOutcome::Failed {
        reason: reason.to_string(),
    };
}
