//! Runs one scenario: its actors join, its steps are taken, changes are undone, and the actors leave.

use std::time::Duration;

use evidence::{
    Change, DriverAction, DriverStep, ObjectRef, StepOutcome,
    api::{ClusterProfile, ObjectKind, Role},
};
use futures::future::join_all;
use jiff::Timestamp;
use serde_json::json;
use tokio::{select, sync::watch};

use super::{
    foreign::{ForeignObject, create_once_free},
    table::{Actors, FEW, Line, Past, ProfileField, Requires, ScenarioSpec, Until},
};
use crate::{
    connect::failure::Failure,
    driver::{
        hooks::{Call, Called, undoes, undone_by},
        journal::{FieldChange, UndoEntry},
        member::{ScenarioMember, is_healthy, is_selectable, version},
        placement::ScenarioPlacement,
        plan::OwnMember,
        session::{STOPPED, Session, late_deadline},
    },
};

/// Interval between attempts to create a namespace that is still terminating.
const NAMESPACE_RETRY: Duration = Duration::from_millis(500);
const NO_PROFILE: &str = "no profile of the member was found";
/// The panic if the table is wrong.
const NO_ACTOR: &str = "the table gives each scenario the actors of its steps";

/// A scenario that is running.
pub(super) struct DriverScenario<'s, 'a> {
    pub(super) session: &'s Session<'a>,
    spec: &'static ScenarioSpec,
    pub(super) others_ended: watch::Receiver<bool>,
    member: Option<ScenarioMember>,
    /// Members that are needed only for their number or names. The steps in which they join have not ended.
    fleet: Vec<(ScenarioMember, DriverStep)>,
    placement: Option<ScenarioPlacement>,
    pub(super) foreign: Option<ForeignObject>,
    past: Past,
    /// The numbers of the changes to undo in the journal.
    undos: Vec<u64>,
}

/// A step that was taken: the outcome, and the object that the run wrote.
type Taken = (Called, Option<ObjectRef>);

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
            member: None,
            fleet: Vec::new(),
            placement: None,
            foreign: None,
            past: Past::default(),
            undos: Vec::new(),
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
        // The session tries again, and reports what is left.
        let _ = self.session.undo(&self.undos, self.member.as_slice()).await;
        self.leave().await;
    }

    fn is_supported(&self) -> bool {
        let has_members = matches!(
            self.spec.actors,
            Actors::Member | Actors::MemberInOwnNamespace | Actors::SimilarMembers | Actors::Fleet
        );
        self.session.can(self.spec.needs) && (!has_members || self.session.judges(Role::Manager))
    }

    /// Has the actors join. Returns `false` if the steps cannot be taken.
    async fn join(&mut self) -> bool {
        let session = self.session;
        match self.spec.actors {
            Actors::Member => self.join_member(None).await,
            Actors::MemberInOwnNamespace => self.join_in_own_namespace().await,
            Actors::SimilarMembers => {
                // One after the other: the profile of the first one is known then.
                for mut member in self.take(session.pool.similar()).await {
                    let step = member.join(session).await;
                    self.fleet.push((member, step));
                }
                true
            }
            Actors::Fleet => match session.plan.scale {
                Some(scale) => self.join_fleet(scale.members).await,
                None => false,
            },
            Actors::Placement { clusters, members } => self.place(clusters, members).await,
            Actors::MemberAndPlacement => {
                let joins = session.judges(Role::Manager) && session.can(&[DriverAction::Join]);
                if joins && !self.join_member(None).await {
                    return false;
                }
                if session.can(&[DriverAction::Place]) {
                    self.place(FEW, 1).await;
                }
                true
            }
            Actors::ForeignObject(kind) => {
                self.choose_foreign_object(kind).await;
                true
            }
        }
    }

    async fn take(&self, own: Vec<OwnMember>) -> Vec<ScenarioMember> {
        ScenarioMember::take(self.session, self.spec.scenario, own).await
    }

    async fn join_member(&mut self, namespace: Option<String>) -> bool {
        let own = self.session.pool.take(1).await;
        let Some(mut member) = self.take(own).await.pop() else {
            return false;
        };
        member.namespace = namespace;
        let step = member.join(self.session).await;
        member.end(self.session, step);
        self.member = Some(member);
        true
    }

    /// Creates the run's own namespace, and has a member join in it. Fails if the namespace exists already.
    async fn join_in_own_namespace(&mut self) -> bool {
        let session = self.session;
        let name = self.own_namespace();
        let outcome = match session.record_undo(UndoEntry::Namespace { name: name.clone() }) {
            Ok(_) => {
                let created = session.writes.create_namespace(&name, &session.plan.run).await;
                created
                    .map_err(|failure| format!("failed to create the run's own namespace {name}: {failure}"))
            }
            Err(reason) => Err(reason),
        };
        match outcome {
            Ok(()) => self.join_member(Some(name)).await,
            Err(reason) => {
                let step = session.begin(self.spec.scenario, DriverAction::DeleteNamespace, "", None);
                session.skip_step(step, reason);
                false
            }
        }
    }

    async fn join_fleet(&mut self, members: usize) -> bool {
        let session = self.session;
        let own = session.pool.take(members).await;
        let joining = self.take(own).await.into_iter().map(async |mut member| {
            member.takes_turns = true;
            let step = member.join(session).await;
            (member, step)
        });
        self.fleet = join_all(joining).await;
        true
    }

    /// Requests clusters, and returns whether the scheduler selects them. Fake members join first if fewer than `needed` are
    /// selectable.
    async fn place(&mut self, clusters: usize, needed: usize) -> bool {
        let session = self.session;
        let lacking = needed.saturating_sub(selectable_members(session));
        let joins = [DriverAction::Join, DriverAction::Leave];
        if lacking > 0 && session.plan.has_fake_members() && session.can(&joins) {
            self.join_fleet(lacking).await;
        }
        let mut placement = ScenarioPlacement::new(session, self.spec.scenario);
        let selectable = selectable_members(session);
        if selectable < needed {
            let reason = format!(
                "{selectable} profiles are joined and healthy, and {needed} are needed: with the hooks `join` and \
                 `leave`, fake members join"
            );
            session.skip_step(placement.begin(session, DriverAction::Place), reason);
            return false;
        }
        let is_placed = placement.place(session, selectable.min(clusters)).await;
        self.placement = Some(placement);
        is_placed
    }

    /// Has the actors leave.
    async fn leave(self) {
        let session = self.session;
        if let Some(placement) = self.placement {
            placement.unplace(session).await;
        }
        let leaving = self.fleet.into_iter().map(async |(member, mut step)| {
            // Writes to its profile until now belong to its join.
            if step.outcome == StepOutcome::Done {
                step.looked_until = session.now();
            }
            member.end(session, step);
            member.leave(session).await;
        });
        join_all(leaving).await;
        if let Some(member) = self.member {
            member.leave(session).await;
        }
    }

    async fn take_steps(&mut self) {
        let session = self.session;
        for line in self.spec.steps {
            let continues = match line {
                Line::Pause(duration) => {
                    session.pause(*duration).await;
                    true
                }
                Line::Step(action, requires, until) if session.can(&[*action]) => {
                    self.take_step(*action, *requires, *until).await || action.is_on_placements()
                }
                Line::Reschedule(clusters) if session.can(&[DriverAction::Reschedule]) => {
                    let placement = self.placement.as_mut().expect(NO_ACTOR);
                    placement.reschedule(session, *clusters).await
                }
                Line::Step(..) | Line::Reschedule(_) => true,
            };
            if !continues {
                return;
            }
        }
    }

    /// Takes a step. Returns whether the run did what the step says, whatever followed.
    async fn take_step(&mut self, action: DriverAction, requires: Requires, until: Until) -> bool {
        let session = self.session;
        let mut step = self.begin(action);
        if session.stop.is_cancelled() && !undoes(action) {
            session.skip_step(step, STOPPED);
            return false;
        }
        let taken = match self.require(requires).await {
            Ok(()) => self.act(action, &mut step).await,
            Err(reason) => Err(reason),
        };
        let (called, written) = match taken {
            Ok(taken) => taken,
            Err(reason) => {
                session.skip_step(step, reason);
                return false;
            }
        };
        session.did(&mut step, called);
        let is_done = step.outcome == StepOutcome::Done;
        if is_done {
            if let Some(object) = written {
                session.delivered(&object).await;
            }
            self.observe(until, &mut step).await;
        }
        if let Some(member) = self.member.as_ref().filter(|_| action != DriverAction::Restart) {
            step.profile_after = member.profile_ref(session);
        }
        session.end(step);
        is_done
    }

    fn begin(&self, action: DriverAction) -> DriverStep {
        use DriverAction::{
            ChangeForeignProfile, CreateNamespace, DeleteSlice, Disconnect, EmptySlice, PutForeignProfile,
            PutForeignSlice, Reconnect, RecreateForeignProfile, Restart,
        };
        let session = self.session;
        let before = || self.past.before.as_ref().map(ObjectRef::from);
        let (member, profile) = match action {
            DeleteSlice | EmptySlice => return self.placement().begin(session, action),
            Restart => ("", None),
            Disconnect | Reconnect => ("", self.member().profile_ref(session).or_else(before)),
            CreateNamespace => (self.member().name(), before()),
            PutForeignProfile | ChangeForeignProfile | RecreateForeignProfile | PutForeignSlice => {
                let object = self.foreign.as_ref();
                ("", object.and_then(|object| object.created.clone()))
            }
            _ => return self.member().begin(session, action),
        };
        session.begin(self.spec.scenario, action, member, profile)
    }

    /// Checks what a step requires. Waits for a healthy member as long as a join may take.
    async fn require(&mut self, requires: Requires) -> Result<(), String> {
        if requires == Requires::Nothing {
            return Ok(());
        }
        let session = self.session;
        self.current_profile().ok_or(NO_PROFILE)?;
        let is_healthy = || self.current_profile().as_ref().is_some_and(is_healthy);
        let deadline = session.after(session.plan.patience.with(DriverAction::Join));
        if requires == Requires::Healthy && !session.wait_until(deadline, is_healthy).await {
            return Err("the profile does not report that the member is healthy".to_owned());
        }
        self.past.before = self.current_profile();
        Ok(())
    }

    /// Records how to undo the step, and takes it. The error is why it cannot be taken.
    async fn act(&mut self, action: DriverAction, step: &mut DriverStep) -> Result<Taken, String> {
        let session = self.session;
        if let Some(field) = ProfileField::changed_by(action) {
            return self.set_field(field, step).await;
        }
        match action {
            DriverAction::DeleteProfile | DriverAction::DeleteNamespace => {
                self.delete_profile(action, step).await
            }
            DriverAction::CreateNamespace => {
                let name = self.own_namespace();
                let patience = session.plan.patience.with(action);
                let create = || session.writes.create_namespace(&name, &session.plan.run);
                let created = create_once_free(session, patience, NAMESPACE_RETRY, create).await;
                Ok(written(created.map(|()| None)))
            }
            DriverAction::DeleteSlice | DriverAction::EmptySlice => self.write_slice(action, step).await,
            DriverAction::PutForeignProfile | DriverAction::PutForeignSlice => {
                self.create_foreign_object(step).await
            }
            DriverAction::RecreateForeignProfile => {
                let object = self.foreign.as_mut().expect(NO_ACTOR);
                let created = object.recreate(session).await;
                step.profile_after = created.as_ref().ok().cloned();
                Ok(written(created.map(Some)))
            }
            _ => self.call_hook(action, step).await,
        }
    }

    /// Calls the hook, for the member if the step has one.
    async fn call_hook(&mut self, action: DriverAction, step: &mut DriverStep) -> Result<Taken, String> {
        let session = self.session;
        if let Some(undo) = undone_by(action) {
            self.undos.push(session.record_hook(undo, &step.member)?);
        }
        let called = if action == DriverAction::Upgrade {
            let (called, requested) = self.member().upgrade(session).await;
            let before = self.past.before.as_ref().and_then(version);
            step.change = Some(Change {
                path: "status.version.kubernetes".to_owned(),
                before: before.map(str::to_owned),
                after: Some(requested.clone()),
            });
            self.past.value = Some(requested);
            called
        } else if step.member.is_empty() {
            session.call(Call::of(action)).await
        } else {
            self.member().call(session, action, None).await
        };
        Ok((called, None))
    }

    /// Changes a field of the member's profile, or of the profile of another manager.
    async fn set_field(
        &mut self,
        field: &'static ProfileField,
        step: &mut DriverStep,
    ) -> Result<Taken, String> {
        let session = self.session;
        let profile = step.profile.clone().ok_or(NO_PROFILE)?;
        session.writes.check(&profile)?;
        let before = match &self.foreign {
            Some(object) => Some(object.display_name()),
            None => self.past.before.as_ref().and_then(field.read),
        };
        let before = before.map(str::to_owned);
        if let (None, Some(missing)) = (&before, field.missing) {
            return Err(missing.to_owned());
        }
        let after = (field.value)(&session.plan.run);
        step.change = Some(Change {
            path: field.path.to_owned(),
            before: before.clone(),
            after: after.clone(),
        });
        self.past.field = Some(field);
        self.past.value.clone_from(&after);
        let change = FieldChange {
            profile,
            pointer: field.pointer.to_owned(),
            before,
            after,
        };
        // The object of another manager is deleted at the end anyway.
        if self.foreign.is_none() {
            let undo = session.record_undo(UndoEntry::Field(change.clone()))?;
            self.undos.push(undo);
        }
        Ok(written(session.writes.set(&change).await.map(Some)))
    }

    /// Deletes the member's profile, alone or with the run's own namespace if that has no other profile.
    async fn delete_profile(&mut self, action: DriverAction, step: &DriverStep) -> Result<Taken, String> {
        let (session, name) = (self.session, self.own_namespace());
        let profile = step.profile.as_ref().ok_or(NO_PROFILE)?;
        session.writes.check(profile)?;
        let deleted = if action == DriverAction::DeleteProfile {
            session.writes.delete(ObjectKind::ClusterProfile, profile).await
        } else if profile.namespace != name {
            let reason = "the profile is not in the run's own namespace: let the hook `join` use CONFORMANCE_NAMESPACE";
            return Err(reason.to_owned());
        } else if session.has_other_profiles(&name) {
            return Err("the run's own namespace has profiles of other members".to_owned());
        } else {
            session.writes.touch(ObjectKind::ClusterProfile, profile.into());
            session.writes.delete_namespace(&name, &session.plan.run).await
        };
        if deleted.is_ok() {
            self.member.as_mut().expect(NO_ACTOR).forget_profile();
        }
        Ok(written(deleted.map(|()| None)))
    }

    async fn write_slice(&self, action: DriverAction, step: &mut DriverStep) -> Result<Taken, String> {
        let writes = &self.session.writes;
        let slice = self.placement().take_slice(self.session);
        let slice = slice.ok_or("no slice was found that the scheduler made for the placement")?;
        step.slice = Some(slice.clone());
        Ok(if action == DriverAction::DeleteSlice {
            let deleted = writes.delete(ObjectKind::PlacementDecision, &slice).await;
            written(deleted.map(|()| None))
        } else {
            let stored = writes.decide(&slice, &json!([])).await;
            let kind = ObjectKind::PlacementDecision.name();
            written(stored.map(|stored| Some(ObjectRef::of_value(&stored, kind))))
        })
    }

    async fn create_foreign_object(&mut self, step: &mut DriverStep) -> Result<Taken, String> {
        let session = self.session;
        let Some(object) = &mut self.foreign else {
            return Err("no object of the implementation shows in which namespace to create one".to_owned());
        };
        let namespaces = vec![object.namespace().to_owned()];
        // The end of the run undoes it: another scenario may have its object in this namespace.
        session.record_undo(UndoEntry::Objects { namespaces })?;
        let created = object.create(session).await;
        if let Ok(created) = &created {
            let place = match step.action {
                DriverAction::PutForeignSlice => &mut step.slice,
                _ => &mut step.profile,
            };
            *place = Some(created.clone());
        }
        Ok(written(created.map(Some)))
    }

    async fn observe(&mut self, until: Until, step: &mut DriverStep) {
        let session = self.session;
        let deadline = late_deadline(step);
        match until {
            Until::Profile(is_met) => {
                let is_met = || {
                    let record = session.record();
                    is_met(self.member().profile(&record), &self.past)
                };
                session.observe(step, deadline, is_met).await;
            }
            Until::ProfileFound => {
                let member = self.member.as_mut().expect(NO_ACTOR);
                let is_found = || member.find(session, &session.record()).is_some();
                session.observe(step, deadline, is_found).await;
            }
            Until::Placed => self.placement().observe_restored(session, step).await,
            Until::Deadline => _ = session.observe(step, deadline, || false).await,
            Until::LongAfterDeadline(duration) => {
                let deadline = step.deadline().saturating_add(duration).unwrap_or(Timestamp::MAX);
                session.observe(step, deadline, || false).await;
            }
            Until::OthersEnd => {
                session.observe(step, deadline, || false).await;
                select! {
                    () = session.stop.cancelled() => {}
                    _ = self.others_ended.wait_for(|ended| *ended) => {}
                }
                step.looked_until = session.now();
            }
        }
    }

    fn current_profile(&self) -> Option<ClusterProfile> {
        self.member().profile(&self.session.record()).cloned()
    }

    fn own_namespace(&self) -> String {
        self.session.plan.own_namespace.clone().unwrap_or_default()
    }

    fn member(&self) -> &ScenarioMember {
        self.member.as_ref().expect(NO_ACTOR)
    }

    fn placement(&self) -> &ScenarioPlacement {
        self.placement.as_ref().expect(NO_ACTOR)
    }
}

fn written(outcome: Result<Option<ObjectRef>, Failure>) -> Taken {
    match outcome {
        Ok(object) => (Called::done(), object),
        Err(failure) => (Called::failed(failure.to_string()), None),
    }
}

/// How many clusters a scheduler may select.
fn selectable_members(session: &Session<'_>) -> usize {
    let scope = session.context.scope;
    let record = session.record();
    let current = record.after(0).iter().filter_map(|history| history.current());
    current
        .filter(|profile| scope.holds(profile) && is_selectable(profile))
        .count()
}
