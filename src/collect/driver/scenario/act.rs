//! What the run does in a step: it calls a hook, or writes to the hub.

use std::{collections::BTreeMap, time::Duration};

use evidence::{
    DriverAction, DriverStep, History, ObjectKey, ObjectRef, StepChange, Tracked,
    api::{ObjectKind, names},
    runs::names_placement,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{DriverScenario, NO_ACTOR, NO_PROFILE};
use crate::{
    connect::RequestFailure,
    driver::{
        Called, FieldChange, HookRequest, STOPPED, Session, UndoEntry,
        actions::{ActionSpec, Operation, ProfileField},
        hooks::undone_by,
        member::version,
        undoes,
    },
    watch::HistoryRecord,
};

/// Interval between attempts to create a namespace that is still terminating.
const NAMESPACE_RETRY: Duration = Duration::from_millis(500);
/// How long the hub may take to delete an object without finalizers.
const DELETION: Duration = Duration::from_secs(10);
/// Interval between attempts to create an object whose name is still in use.
const RETRY: Duration = Duration::from_millis(5);

/// A step that was taken: the outcome, and the object that the run wrote.
type ActionResult = (Called, Option<ObjectRef>);

impl DriverScenario<'_, '_> {
    /// Checks what the step requires, records how to undo it, and takes it. The error is why it cannot be taken.
    pub(super) async fn act(
        &mut self,
        spec: &ActionSpec,
        step: &mut DriverStep,
    ) -> Result<ActionResult, String> {
        let session = self.session;
        if session.context.is_stopped() && !undoes(spec.action) {
            return Err(STOPPED.to_owned());
        }
        self.require(spec.requires).await?;
        match spec.operation {
            Operation::CallHook => self.call_hook(step).await,
            Operation::SetField(field) => self.set_field(field, step).await,
            Operation::DeleteProfile => self.delete_profile(step).await,
            Operation::DeleteNamespace => self.delete_namespace(step).await,
            Operation::CreateNamespace => {
                let name = self.own_namespace();
                let patience = session.plan.file.patience_with(spec.action);
                let create = || session.writes.create_namespace(&name);
                let created = create_once_free(session, patience, NAMESPACE_RETRY, create).await;
                Ok(written(created.map(|()| None)))
            }
            Operation::DeleteSlice => {
                let slice = self.take_slice(step)?;
                let deleted = session.writes.delete(&slice).await;
                Ok(written(deleted.map(|()| None)))
            }
            Operation::EmptySlice => {
                let slice = self.take_slice(step)?;
                let stored = session.writes.decide(&slice, &json!([])).await;
                let kind = ObjectKind::PlacementDecision.name();
                Ok(written(
                    stored.map(|stored| Some(ObjectRef::of_value(&stored, kind))),
                ))
            }
            Operation::CreateForeignObject => self.create_foreign_object(step).await,
            Operation::RecreateForeignObject => {
                let object = self.foreign.as_mut().expect(NO_ACTOR);
                let created = object.recreate(session).await;
                step.profile_after = created.as_ref().ok().cloned();
                Ok(written(created.map(Some)))
            }
        }
    }

    /// Records a change that is undone before the actors leave.
    fn record_undo(&mut self, entry: UndoEntry) -> Result<(), String> {
        self.session.record_undo(entry.clone())?;
        self.changes.push(entry);
        Ok(())
    }

    async fn call_hook(&mut self, step: &mut DriverStep) -> Result<ActionResult, String> {
        let (session, action) = (self.session, step.action);
        if let Some(undo) = undone_by(action)
            && !session.plan.does_itself(action)
        {
            self.record_undo(UndoEntry::hook(undo, &step.member))?;
        }
        let called = if action == DriverAction::Upgrade {
            let (called, requested) = self.member().upgrade(session).await;
            let before = self.before.as_ref().and_then(version);
            step.change = Some(StepChange {
                path: "status.version.kubernetes".to_owned(),
                before: before.map(str::to_owned),
                after: Some(requested),
            });
            called
        } else if step.member.is_empty() {
            session.call(HookRequest::of(action)).await
        } else {
            self.member().call(session, action, None).await
        };
        Ok((called, None))
    }

    async fn set_field(
        &mut self,
        field: &'static ProfileField,
        step: &mut DriverStep,
    ) -> Result<ActionResult, String> {
        let session = self.session;
        let profile = step.profile.clone().ok_or(NO_PROFILE)?;
        session.writes.check(&profile)?;
        let before = match &self.foreign {
            Some(object) => Some(object.key.name.as_str()),
            None => self.before.as_ref().and_then(field.read),
        };
        let before = before.map(str::to_owned);
        if let (None, Some(reason)) = (&before, field.missing) {
            return Err(reason.to_owned());
        }
        let after = (field.value)(&session.plan.run);
        step.change = Some(StepChange {
            path: field.path.to_owned(),
            before: before.clone(),
            after: after.clone(),
        });
        let change = FieldChange {
            profile,
            pointer: field.pointer.to_owned(),
            before,
            after,
        };
        // The object of another manager is deleted at the end anyway.
        if self.foreign.is_none() {
            self.record_undo(UndoEntry::Field(change.clone()))?;
        }
        Ok(written(session.writes.set(&change).await.map(Some)))
    }

    async fn delete_profile(&mut self, step: &DriverStep) -> Result<ActionResult, String> {
        let writes = &self.session.writes;
        let profile = step.profile.as_ref().ok_or(NO_PROFILE)?;
        writes.check(profile)?;
        Ok(self.deleted(writes.delete(profile).await))
    }

    /// Deletes the run's own namespace with the member's profile, if it has no other profile.
    async fn delete_namespace(&mut self, step: &DriverStep) -> Result<ActionResult, String> {
        let (session, name) = (self.session, self.own_namespace());
        let profile = step.profile.as_ref().ok_or(NO_PROFILE)?;
        session.writes.check(profile)?;
        if profile.namespace != name {
            let reason = "the profile is not in the run's own namespace: let the hook `join` use CONFORMANCE_NAMESPACE";
            return Err(reason.to_owned());
        }
        if session.has_other_profiles(&name) {
            return Err("the run's own namespace has profiles of other members".to_owned());
        }
        session.writes.touch(ObjectKind::ClusterProfile, profile.into());
        Ok(self.deleted(session.writes.delete_namespace(&name).await))
    }

    /// The outcome of the deletion of the member's profile.
    fn deleted(&mut self, outcome: Result<(), RequestFailure>) -> ActionResult {
        if outcome.is_ok() {
            self.member.as_mut().expect(NO_ACTOR).forget_profile();
        }
        written(outcome.map(|()| None))
    }

    /// Takes a slice of the placement, to write to it.
    fn take_slice(&self, step: &mut DriverStep) -> Result<ObjectRef, String> {
        let slice = self.placement().take_slice(self.session);
        step.slice.clone_from(&slice);
        slice.ok_or("no slice was found that the scheduler made for the placement".to_owned())
    }

    /// Chooses the namespace of the object: that of the first object that the implementation makes for the run, or of any
    /// other one if there is none until all other scenarios have ended.
    pub(super) async fn choose_foreign_object(&mut self, kind: ObjectKind) {
        let session = self.session;
        let joins = match kind {
            ObjectKind::ClusterProfile => DriverAction::Join,
            ObjectKind::PlacementDecision => DriverAction::Place,
        };
        if session.can(&[joins]) {
            let is_over = || self.others_ended.is_cancelled() || namespace_of(session, kind, true).is_some();
            session.wait_until(Timestamp::MAX, is_over).await;
        }
        let namespace = namespace_of(session, kind, true).or_else(|| namespace_of(session, kind, false));
        self.foreign = namespace.map(|namespace| ForeignObject {
            kind,
            key: ObjectKey::new(&namespace, &format!("conformance-{}-foreign", session.plan.run)),
            created: None,
        });
    }

    async fn create_foreign_object(&mut self, step: &mut DriverStep) -> Result<ActionResult, String> {
        let session = self.session;
        let Some(object) = &mut self.foreign else {
            return Err("no object of the implementation shows in which namespace to create one".to_owned());
        };
        let namespaces = vec![object.key.namespace.clone()];
        // The end of the run undoes it: another scenario may have its object in this namespace.
        session.record_undo(UndoEntry::Objects { namespaces })?;
        let created = object.create(session, Duration::ZERO).await;
        if let Ok(created) = &created {
            let place = match step.action {
                DriverAction::PutForeignSlice => &mut step.slice,
                _ => &mut step.profile,
            };
            *place = Some(created.clone());
        }
        Ok(written(created.map(Some)))
    }
}

fn written(outcome: Result<Option<ObjectRef>, RequestFailure>) -> ActionResult {
    match outcome {
        Ok(object) => (Called::success(), object),
        Err(failure) => (Called::failed(failure.to_string()), None),
    }
}

pub(super) struct ForeignObject {
    kind: ObjectKind,
    /// Its namespace has an object of the judged implementation. Its name is also the display name of a profile.
    key: ObjectKey,
    /// The object on the hub, once the run has created it.
    pub created: Option<ObjectRef>,
}

impl ForeignObject {
    /// Creates the object, once its name is free, and fills the status of a profile.
    async fn create(&mut self, session: &Session<'_>, within: Duration) -> Result<ObjectRef, RequestFailure> {
        let created = create_once_free(session, within, RETRY, || self.create_bare(session)).await?;
        self.created = Some(created.clone());
        if self.kind == ObjectKind::PlacementDecision {
            return Ok(created);
        }
        match session.writes.set_status(&created, &status(session)).await {
            Ok(stored) => Ok(ObjectRef::of_value(&stored, self.kind.name())),
            // Another client has deleted it already.
            Err(failure) if failure.code() == 404 => Ok(created),
            Err(failure) => Err(failure),
        }
    }

    /// Deletes the object, and creates it again before another client can react.
    async fn recreate(&mut self, session: &Session<'_>) -> Result<ObjectRef, RequestFailure> {
        let before = self.created.clone().unwrap_or_default();
        let delete = session.writes.delete(&before);
        let (deleted, created) = futures::join!(delete, self.create(session, DELETION));
        deleted.and(created)
    }

    async fn create_bare(&self, session: &Session<'_>) -> Result<ObjectRef, RequestFailure> {
        let created = match self.kind {
            ObjectKind::ClusterProfile => session.writes.create_profile(&self.key, BTreeMap::new()).await?,
            ObjectKind::PlacementDecision => {
                let labels = [(names::LABEL_DECISION_KEY.to_owned(), self.key.name.clone())];
                // A decision without clusters: a consumer that finds it does nothing.
                session
                    .writes
                    .create_slice(&self.key, labels.into(), &json!([]))
                    .await?
            }
        };
        Ok(ObjectRef::of_value(&created, self.kind.name()))
    }
}

/// A complete status, so that the run notices an implementation that overwrites it.
fn status(session: &Session<'_>) -> Value {
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "Foreign", "message": "put here by the conformance suite",
            "lastTransitionTime": format!("{:.0}", session.context.now()),
        })
    };
    json!({
        "version": {"kubernetes": "v1.34.0"},
        "conditions": [condition(names::CONDITION_HEALTHY), condition(names::CONDITION_JOINED)],
    })
}

async fn create_once_free<T, F>(
    session: &Session<'_>,
    within: Duration,
    retry: Duration,
    create: impl Fn() -> F,
) -> Result<T, RequestFailure>
where
    F: Future<Output = Result<T, RequestFailure>>,
{
    let deadline = session.context.after(within);
    loop {
        match create().await {
            Err(failure) if failure.code() == 409 && session.context.now() < deadline => {
                session.context.pause(retry).await
            }
            outcome => return outcome,
        }
    }
}

/// The namespace of an object of that kind, other than the run's own namespace.
fn namespace_of(session: &Session<'_>, kind: ObjectKind, is_of_run: bool) -> Option<String> {
    let scope = session.context.scope;
    if kind == ObjectKind::PlacementDecision {
        return first_namespace(&session.slices(), |slice| {
            scope.holds_slice(slice) && (!is_of_run || names_placement(slice, &session.plan.run))
        });
    }
    first_namespace(&session.record(), |profile| {
        scope.holds(profile)
            && (!is_of_run || session.is_claimed(&profile.metadata.uid))
            && Some(&*profile.metadata.namespace) != session.plan.file.own_namespace.as_deref()
    })
}

fn first_namespace<T: Tracked>(record: &HistoryRecord<T>, is_chosen: impl Fn(&T) -> bool) -> Option<String> {
    let mut current = record.after(0).iter().filter_map(History::current);
    let object = current.find(|object| is_chosen(object))?;
    Some(object.metadata().namespace.to_string())
}
