//! Runs one scenario: for each step, checks what it requires, writes down how to undo it, acts, and observes what follows.

use std::time::Duration;

use evidence::{
    Change, DriverAction, DriverStep, ObjectKey, ObjectRef, StepOutcome,
    api::{ObjectKind, Role},
};
use jiff::Timestamp;
use tokio::{select, sync::watch};

use super::{
    Act, Actors, Condition, Line, Past, ProfileField, ScenarioSpec, StepSpec, Until,
    actors::Cast,
    table::{DISPLAY_NAME, is_restored},
};
use crate::{
    connect::failure::Failure,
    driver::{
        answers,
        hooks::{Call, Called, undoes},
        journal::{FieldUndo, UndoEntry},
        scenario_member::ScenarioMember,
        scenario_placement::ScenarioPlacement,
        session::{STOPPED, Session, UndoNotRecorded},
        writes::{NotOurs, undo_creation, undo_namespace},
    },
};

/// A scenario that is running.
pub(super) struct DriverScenario<'s, 'a> {
    pub(super) session: &'s Session<'a>,
    pub(super) spec: &'static ScenarioSpec,
    pub(super) others_ended: watch::Receiver<bool>,
    pub(super) cast: Cast,
    past: Past,
    /// What is to be undone, with its number in the write-ahead log.
    undos: Vec<(UndoEntry, Option<u64>)>,
    /// The change that the current step makes.
    change: Option<FieldUndo>,
    /// What the current step wrote.
    written: Option<ObjectRef>,
}

/// Why a step cannot be taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTaken {
    #[error("{0}")]
    Unmet(&'static str),
    #[error("failed to create the run's own namespace {0}: {1}")]
    NoNamespace(String, #[source] Failure),
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    #[error(transparent)]
    UndoNotRecorded(#[from] UndoNotRecorded),
}

/// How often the run tries to create a namespace that is still terminating.
const NAMESPACE_RETRY: Duration = Duration::from_millis(500);
const NO_PROFILE: NotTaken = NotTaken::Unmet("no profile of the member was found");
const NO_SLICE: NotTaken = NotTaken::Unmet("no slice was found that the scheduler made for the placement");
/// The panic if the table is wrong.
const NO_ACTOR: &str = "the table gives each scenario the actors of its steps";

impl<'s, 'a> DriverScenario<'s, 'a> {
    pub fn new(
        session: &'s Session<'a>,
        spec: &'static ScenarioSpec,
        others_ended: watch::Receiver<bool>,
    ) -> Self {
        Self {
            session,
            spec,
            others_ended,
            cast: Cast::default(),
            past: Past::default(),
            undos: Vec::new(),
            change: None,
            written: None,
        }
    }

    /// Runs the scenario if the run can do it, and undoes what it did.
    pub async fn run(mut self) {
        if !self.is_supported() {
            return;
        }
        if self.join().await {
            self.take_steps().await;
        }
        self.undo_all().await;
        self.leave().await;
        self.undo_namespace().await;
    }

    fn is_supported(&self) -> bool {
        let session = self.session;
        let joins = || {
            let actions = [DriverAction::Join, DriverAction::Leave];
            session.judges(Role::Manager) && session.capabilities.support(&actions)
        };
        session.capabilities.support(self.spec.needs)
            && match self.spec.actors {
                Actors::Member | Actors::MemberInOwnNamespace | Actors::SimilarMembers => joins(),
                Actors::Fleet => joins() && session.plan.scale.is_some(),
                Actors::Placement { .. } | Actors::MemberAndPlacement | Actors::ForeignObject(_) => true,
            }
    }

    async fn take_steps(&mut self) {
        let session = self.session;
        let can = |action| session.capabilities.support(&[action]);
        for line in self.spec.steps {
            let goes_on = match line {
                Line::Pause(duration) => {
                    session.pause(*duration).await;
                    true
                }
                Line::Step(step) if can(step.action) => {
                    self.take(step).await || step.action.is_on_placements()
                }
                Line::Reschedule(clusters) if can(DriverAction::Reschedule) => {
                    let placement = self.cast.placement.as_mut().expect(NO_ACTOR);
                    placement.reschedule(session, *clusters).await
                }
                Line::Step(_) | Line::Reschedule(_) => true,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Takes a step. Returns whether the run did what the step says, whatever followed.
    async fn take(&mut self, spec: &StepSpec) -> bool {
        let session = self.session;
        let mut step = self.begin(spec);
        if session.stop.is_cancelled() && !undoes(spec.action) {
            session.skip_step(step, STOPPED);
            return false;
        }
        if let Err(reason) = self.prepare(spec, &mut step).await {
            session.skip_step(step, reason);
            return false;
        }
        let called = self.act(spec, &mut step).await;
        session.did(&mut step, called);
        let is_done = step.outcome == StepOutcome::Done;
        if is_done {
            self.settle(step.action);
            if let Some(object) = self.written.take() {
                session.delivered(&object).await;
            }
            self.observe(spec.until, &mut step).await;
        }
        match &self.cast.member {
            Some(member) if spec.act.is_on_member() => member.end(session, step),
            _ => session.end(step),
        }
        is_done
    }

    fn begin(&self, spec: &StepSpec) -> DriverStep {
        let session = self.session;
        match spec.act {
            Act::SourceHook => {
                let current = self.member().profile(&session.record()).map(ObjectRef::from);
                let profile = current.or_else(|| self.past.before.as_ref().map(ObjectRef::from));
                session.begin(self.spec.scenario, spec.action, "", profile)
            }
            act if act.is_on_member() => self.member().begin(session, spec.action),
            Act::DeleteSlice | Act::EmptySlice => self.placement().begin(session, spec.action),
            _ => session.begin(self.spec.scenario, spec.action, "", None),
        }
    }

    /// Checks what the step requires, and writes down how to undo it.
    async fn prepare(&mut self, spec: &StepSpec, step: &mut DriverStep) -> Result<(), NotTaken> {
        if let Some((condition, reason)) = spec.requires {
            self.require(condition, reason).await?;
        }
        if !undoes(spec.action)
            && let Some(member) = &self.cast.member
            && let Some(profile) = member.profile(&self.session.record())
        {
            self.past.before = Some(profile.clone());
        }
        match spec.act {
            Act::MemberHook if spec.action == DriverAction::Break => self.record_undo(UndoEntry::Outage {
                name: step.member.clone(),
            }),
            Act::SourceHook if spec.action == DriverAction::Disconnect => {
                self.record_undo(UndoEntry::Disconnection)
            }
            Act::Set(field) => self.prepare_change(field, step),
            Act::DeleteProfile => {
                let profile = step.profile.as_ref().ok_or(NO_PROFILE)?;
                Ok(self.session.writes.check(profile)?)
            }
            Act::DeleteNamespace => self.check_own_namespace(step),
            Act::CreateNamespace => {
                step.profile = self.past.before.as_ref().map(ObjectRef::from);
                Ok(())
            }
            Act::DeleteSlice | Act::EmptySlice => {
                step.slice = Some(self.placement().take_slice(self.session).ok_or(NO_SLICE)?);
                Ok(())
            }
            Act::CreateForeignObject => {
                let object = self.cast.foreign_object.as_ref();
                let undo = object.ok_or_else(|| self.no_namespace())?.undo();
                self.record_undo(undo)
            }
            Act::ChangeForeignObject => {
                let object = self.cast.foreign_object.as_ref().expect(NO_ACTOR);
                let profile = object.created.clone().unwrap_or_default();
                let before = Some(object.display_name().to_owned());
                self.plan_change(&DISPLAY_NAME, profile.clone(), before, step);
                step.profile = Some(profile);
                Ok(())
            }
            Act::RecreateForeignObject => {
                let object = self.cast.foreign_object.as_ref().expect(NO_ACTOR);
                step.profile.clone_from(&object.created);
                Ok(())
            }
            Act::Hook | Act::SourceHook | Act::MemberHook | Act::Upgrade => Ok(()),
        }
    }

    fn no_namespace(&self) -> NotTaken {
        NotTaken::Unmet(match self.spec.actors {
            Actors::ForeignObject(ObjectKind::PlacementDecision) => {
                "there is no slice of the scheduler to put it beside"
            }
            _ => "there is no profile of the implementation to put it beside",
        })
    }

    /// Waits as long as a join may take until the profile is as required.
    async fn require(&self, condition: Condition, reason: &'static str) -> Result<(), NotTaken> {
        let (session, member) = (self.session, self.member());
        if member.profile(&session.record()).is_none() {
            return Err(NO_PROFILE);
        }
        let deadline = session.after(session.plan.patience.with(DriverAction::Join));
        let is_met = session.wait(deadline, |record| condition(member.profile(record), &self.past));
        let is_met = is_met.await;
        is_met.then_some(()).ok_or(NotTaken::Unmet(reason))
    }

    /// Plans the change of a field of the member's profile.
    fn prepare_change(
        &mut self,
        field: &'static ProfileField,
        step: &mut DriverStep,
    ) -> Result<(), NotTaken> {
        let profile = step.profile.as_ref().ok_or(NO_PROFILE)?;
        self.session.writes.check(profile)?;
        let before = self.past.before.as_ref().and_then(field.read);
        if let (None, Some(missing)) = (before, field.missing) {
            return Err(NotTaken::Unmet(missing));
        }
        let (profile, before) = (profile.clone(), before.map(str::to_owned));
        let change = self.plan_change(field, profile, before, step);
        self.record_undo(UndoEntry::Field(change))
    }

    /// Notes which change the step makes.
    fn plan_change(
        &mut self,
        field: &'static ProfileField,
        profile: ObjectRef,
        before: Option<String>,
        step: &mut DriverStep,
    ) -> FieldUndo {
        let change = FieldUndo {
            profile: ObjectKey::from(&profile),
            uid: profile.uid,
            status: field.pointer.starts_with("/status/"),
            pointer: field.pointer.to_owned(),
            before,
            after: (field.value)(&self.session.plan.run),
        };
        step.change = Some(Change {
            path: field.path.to_owned(),
            before: change.before.clone(),
            after: change.after.clone(),
        });
        self.past.field = Some(field);
        self.past.value.clone_from(&change.after);
        self.change = Some(change.clone());
        change
    }

    async fn act(&mut self, spec: &StepSpec, step: &mut DriverStep) -> Called {
        let session = self.session;
        match spec.act {
            Act::Hook | Act::SourceHook => {
                let stop = session.stop_of(spec.action);
                session.call(Call::of(spec.action), stop).await
            }
            Act::MemberHook => self.member().call(session, spec.action, None).await,
            Act::Upgrade => self.upgrade(step).await,
            Act::Set(_) | Act::ChangeForeignObject => called(self.set_field().await),
            Act::DeleteProfile => called(self.delete_profile(step).await),
            Act::DeleteNamespace => called(self.delete_namespace(step).await),
            Act::CreateNamespace => called(self.create_namespace_again().await),
            Act::DeleteSlice | Act::EmptySlice => called(self.write_slice(spec.act, step).await),
            Act::CreateForeignObject => called(self.create_foreign_object(step).await),
            Act::RecreateForeignObject => called(self.recreate_foreign_object(step).await),
        }
    }

    async fn upgrade(&mut self, step: &mut DriverStep) -> Called {
        let (called, version) = self.member().upgrade(self.session).await;
        let before = self.past.before.as_ref();
        step.change = Some(Change {
            path: "status.version.kubernetes".to_owned(),
            before: before.and_then(answers::version).map(str::to_owned),
            after: Some(version.clone()),
        });
        self.past.value = Some(version);
        called
    }

    async fn set_field(&mut self) -> Result<(), Failure> {
        let change = self.change.as_ref().expect("the step planned its change");
        let resource_version = self.session.writes.set(change).await?;
        self.written = Some(ObjectRef {
            kind: ObjectKind::ClusterProfile.name().to_owned(),
            uid: change.uid.clone(),
            resource_version,
            ..ObjectRef::default()
        });
        Ok(())
    }

    async fn delete_profile(&mut self, step: &DriverStep) -> Result<(), Failure> {
        let profile = step.profile.as_ref().expect("the step requires a profile");
        self.session
            .writes
            .delete(ObjectKind::ClusterProfile, profile)
            .await?;
        self.cast.member.as_mut().expect(NO_ACTOR).forget_profile();
        Ok(())
    }

    /// Creates the run's own namespace. Fails if it is there already.
    pub(super) async fn create_own_namespace(&mut self) -> Result<(), NotTaken> {
        let session = self.session;
        let name = session.plan.own_namespace.clone().unwrap_or_default();
        self.record_undo(UndoEntry::Namespace { name: name.clone() })?;
        let created = session.writes.create_namespace(&name, &session.plan.run).await;
        self.cast.namespace = Some(created.map_err(|failure| NotTaken::NoNamespace(name, failure))?);
        Ok(())
    }

    /// Checks that the run may delete its namespace: it has the profile of the member, and no other one.
    fn check_own_namespace(&self, step: &DriverStep) -> Result<(), NotTaken> {
        let profile = step.profile.as_ref().ok_or(NO_PROFILE)?;
        self.session.writes.check(profile)?;
        let namespace = self.cast.namespace.as_ref().expect(NO_ACTOR);
        if profile.namespace != namespace.name {
            return Err(NotTaken::Unmet(
                "the profile is not in the run's own namespace: let the hook `join` use CONFORMANCE_NAMESPACE",
            ));
        }
        if self.has_other_profiles(&namespace.name) {
            return Err(NotTaken::Unmet(
                "the run's own namespace has profiles of other members",
            ));
        }
        Ok(())
    }

    /// Whether the namespace has a profile of a member that the run did not join.
    fn has_other_profiles(&self, namespace: &str) -> bool {
        let record = self.session.record();
        let mut current = record.after(0).iter().filter_map(|history| history.current());
        current.any(|profile| {
            &*profile.metadata.namespace == namespace && !self.session.is_claimed(&profile.metadata.uid)
        })
    }

    async fn delete_namespace(&mut self, step: &DriverStep) -> Result<(), Failure> {
        let profile = step.profile.as_ref().expect("the step requires a profile");
        let namespace = self.cast.namespace.as_ref().expect(NO_ACTOR);
        let writes = &self.session.writes;
        writes.touch(ObjectKind::ClusterProfile, ObjectKey::from(profile));
        writes.delete_namespace(namespace).await?;
        self.cast.member.as_mut().expect(NO_ACTOR).forget_profile();
        Ok(())
    }

    async fn create_namespace_again(&mut self) -> Result<(), Failure> {
        let session = self.session;
        let namespace = self.cast.namespace.as_ref().expect(NO_ACTOR);
        let patience = session.plan.patience.with(DriverAction::CreateNamespace);
        let create = || {
            session
                .writes
                .create_namespace(&namespace.name, &session.plan.run)
        };
        let created = session
            .create_once_free(patience, NAMESPACE_RETRY, create)
            .await?;
        self.cast.namespace = Some(created);
        Ok(())
    }

    async fn write_slice(&mut self, act: Act, step: &DriverStep) -> Result<(), Failure> {
        let slice = step.slice.as_ref().expect("the step requires a slice");
        let writes = &self.session.writes;
        if matches!(act, Act::DeleteSlice) {
            return writes.delete(ObjectKind::PlacementDecision, slice).await;
        }
        self.written = Some(ObjectRef {
            resource_version: writes.empty(slice).await?,
            ..slice.clone()
        });
        Ok(())
    }

    async fn create_foreign_object(&mut self, step: &mut DriverStep) -> Result<(), Failure> {
        let object = self.cast.foreign_object.as_mut().expect(NO_ACTOR);
        let created = object.create(self.session).await?;
        self.written = Some(created.clone());
        if created.kind == ObjectKind::PlacementDecision.name() {
            step.slice = Some(created);
        } else {
            step.profile = Some(created);
        }
        Ok(())
    }

    async fn recreate_foreign_object(&mut self, step: &mut DriverStep) -> Result<(), Failure> {
        let object = self.cast.foreign_object.as_mut().expect(NO_ACTOR);
        let created = object.recreate(self.session).await?;
        self.written = Some(created.clone());
        step.profile_after = Some(created);
        Ok(())
    }

    async fn observe(&mut self, until: Until, step: &mut DriverStep) {
        let session = self.session;
        match until {
            Until::Profile(is_met) => {
                let (member, past) = (self.member(), &self.past);
                session
                    .look(step, |record| is_met(member.profile(record), past))
                    .await;
            }
            Until::ProfileFound => {
                let member = self.cast.member.as_mut().expect(NO_ACTOR);
                session
                    .look(step, |record| member.find(session, record).is_some())
                    .await;
            }
            Until::Placed => self.observe_slices(step).await,
            Until::Deadline => {
                session.look(step, |_| false).await;
            }
            Until::LongAfterDeadline(duration) => {
                let deadline = step.deadline().saturating_add(duration).unwrap_or(Timestamp::MAX);
                session.look_until(deadline, step, |_| false).await;
            }
            Until::OthersEnd => {
                session.look(step, |_| false).await;
                select! {
                    () = session.stop.cancelled() => {}
                    _ = self.others_ended.wait_for(|ended| *ended) => {}
                }
                step.looked_until = session.now();
            }
        }
    }

    /// Waits until the slices hold the clusters again, without the slice that the run deleted.
    async fn observe_slices(&self, step: &mut DriverStep) {
        let placement = self.placement();
        let deleted = step
            .slice
            .as_ref()
            .filter(|_| step.action == DriverAction::DeleteSlice);
        let deleted = deleted.map(|slice| slice.uid.clone());
        placement
            .look(self.session, step, |slices| {
                let mut uids = slices.iter().map(|slice| &*slice.metadata.uid);
                placement.is_met_by(slices) && !uids.any(|uid| Some(uid) == deleted.as_deref())
            })
            .await;
    }

    fn record_undo(&mut self, undo: UndoEntry) -> Result<(), NotTaken> {
        let number = self.session.record_undo(undo.clone())?;
        self.undos.push((undo, number));
        Ok(())
    }

    /// Notes that a step has undone an earlier one.
    fn settle(&mut self, action: DriverAction) {
        let is_undone = |undo: &UndoEntry| undo.undone_by() == Some(action);
        if let Some(place) = self.undos.iter().position(|(undo, _)| is_undone(undo)) {
            let (_, number) = self.undos.remove(place);
            self.session.undone(number);
        }
    }

    /// Undoes what no step has undone, the last first. The namespace stays until the member has left.
    async fn undo_all(&mut self) {
        let is_namespace = |undo: &UndoEntry| matches!(undo, UndoEntry::Namespace { .. });
        while let Some((undo, number)) = self.undos.pop_if(|(undo, _)| !is_namespace(undo)) {
            match self.undo(&undo).await {
                Ok(()) => self.session.undone(number),
                Err(leftover) => self.session.report_leftover(leftover),
            }
        }
    }

    /// Deletes the run's own namespace, unless it has profiles of other members.
    async fn undo_namespace(&mut self) {
        let session = self.session;
        let Some((UndoEntry::Namespace { name }, number)) = self.undos.pop() else {
            return;
        };
        if self.has_other_profiles(&name) {
            session.report_leftover(format!(
                "Namespace {name} is left: it has profiles of other members"
            ));
            return;
        }
        match undo_namespace(session.context.client, &session.plan.run, &name).await {
            Ok(()) => session.undone(number),
            Err(failure) => session.report_leftover(format!("Namespace {name} is left: {failure}")),
        }
    }

    /// Undoes a change. The error describes what is left.
    async fn undo(&self, undo: &UndoEntry) -> Result<(), String> {
        let session = self.session;
        match undo {
            UndoEntry::Outage { name } => {
                let called = self.member().call(session, DriverAction::Heal, None).await;
                let failed = called.failure.map(|_| format!("the member {name} is still broken"));
                failed.map_or(Ok(()), Err)
            }
            UndoEntry::Disconnection => {
                let stop = session.stop_of(DriverAction::Reconnect);
                let called = session.call(Call::of(DriverAction::Reconnect), stop).await;
                let left = "the implementation is still cut off from where its members come from".to_owned();
                called.failure.map_or(Ok(()), |_| Err(left))
            }
            UndoEntry::Field(change) => self.set_back(change).await.map_err(|failure| {
                let FieldUndo { pointer, profile, .. } = change;
                let (namespace, name) = (&profile.namespace, &profile.name);
                format!(
                    "{pointer} of ClusterProfile {namespace}/{name} is still as the run has changed it: {failure}"
                )
            }),
            UndoEntry::Profile { profile } => self.delete_own(ObjectKind::ClusterProfile, profile).await,
            UndoEntry::Slice { slice } => self.delete_own(ObjectKind::PlacementDecision, slice).await,
            // Members, placements, and testbeds undo these themselves, and the namespace comes last.
            UndoEntry::Member { .. }
            | UndoEntry::Placement { .. }
            | UndoEntry::Namespace { .. }
            | UndoEntry::Testbed { .. } => Ok(()),
        }
    }

    /// Restores a field that the implementation has not restored.
    async fn set_back(&self, change: &FieldUndo) -> Result<(), Failure> {
        let is_right = {
            let record = self.session.record();
            let profile = self.member().profile(&record);
            profile.is_none() || is_restored(profile, &self.past)
        };
        if is_right {
            return Ok(());
        }
        self.session.writes.set_back(change).await
    }

    async fn delete_own(&self, kind: ObjectKind, key: &ObjectKey) -> Result<(), String> {
        let session = self.session;
        let (client, target) = (session.context.client, session.context.target);
        let deleted = undo_creation(client, target, &session.plan.run, kind, key).await;
        deleted.map_err(|failure| {
            let ObjectKey { namespace, name } = key;
            format!(
                "{} {namespace}/{name} of the run's own is still there: {failure}",
                kind.name()
            )
        })
    }

    fn member(&self) -> &ScenarioMember {
        self.cast.member.as_ref().expect(NO_ACTOR)
    }

    fn placement(&self) -> &ScenarioPlacement {
        self.cast.placement.as_ref().expect(NO_ACTOR)
    }
}

fn called(outcome: Result<(), Failure>) -> Called {
    match outcome {
        Ok(()) => Called::done(),
        Err(failure) => Called::failed(failure.to_string()),
    }
}
