//! What the run does in a step: it calls a hook, or writes to the hub.

use std::time::Duration;

use evidence::{Change, DriverAction, DriverStep, ObjectRef, api::ObjectKind};
use serde_json::json;

use super::{
    foreign::create_once_free,
    run::{DriverScenario, NO_ACTOR, NO_PROFILE},
    table::ProfileField,
};
use crate::{
    connect::failure::Failure,
    driver::{
        hooks::{Call, Called, undone_by},
        journal::{FieldChange, UndoEntry},
        member::version,
    },
};

/// Interval between attempts to create a namespace that is still terminating.
const NAMESPACE_RETRY: Duration = Duration::from_millis(500);

/// A step that was taken: the outcome, and the object that the run wrote.
pub(super) type Taken = (Called, Option<ObjectRef>);

impl DriverScenario<'_, '_> {
    /// Records how to undo the step, and takes it. The error is why it cannot be taken.
    pub(super) async fn act(&mut self, action: DriverAction, step: &mut DriverStep) -> Result<Taken, String> {
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

    /// Records a change that is undone before the actors leave.
    fn record_undo(&mut self, entry: UndoEntry) -> Result<(), String> {
        self.session.record_undo(entry.clone())?;
        self.changes.push(entry);
        Ok(())
    }

    async fn call_hook(&mut self, action: DriverAction, step: &mut DriverStep) -> Result<Taken, String> {
        let session = self.session;
        if let Some(undo) = undone_by(action) {
            self.record_undo(UndoEntry::hook(undo, &step.member))?;
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
            self.record_undo(UndoEntry::Field(change.clone()))?;
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
}

pub(super) fn written(outcome: Result<Option<ObjectRef>, Failure>) -> Taken {
    match outcome {
        Ok(object) => (Called::done(), object),
        Err(failure) => (Called::failed(failure.to_string()), None),
    }
}
