//! An object that the run creates as another implementation would. The judged implementation must not change it.

use std::time::Duration;

use evidence::{
    DriverAction, DriverStep, History, ObjectKey, ObjectRef, Tracked,
    api::{ObjectKind, names},
    runs::{LABEL_RUN, names_placement},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    act::{Taken, written},
    run::DriverScenario,
};
use crate::{
    connect::failure::Failure,
    driver::{journal::UndoEntry, session::Session, writes::FIELD_MANAGER},
    watch::record::Record,
};

/// How long the hub may take to delete an object without finalizers.
const DELETION: Duration = Duration::from_secs(10);
/// Interval between attempts to create an object whose name is still in use.
const RETRY: Duration = Duration::from_millis(5);

/// An object of another implementation.
pub(super) struct ForeignObject {
    kind: ObjectKind,
    key: ObjectKey,
    /// The object on the hub, once the run has created it.
    pub created: Option<ObjectRef>,
}

impl ForeignObject {
    /// The namespace of the object: one with an object of the judged implementation.
    pub fn namespace(&self) -> &str {
        &self.key.namespace
    }

    /// The display name that the run gives to a profile.
    pub fn display_name(&self) -> &str {
        &self.key.name
    }

    /// Creates the object, once its name is free, and fills the status of a profile.
    pub async fn create(&mut self, session: &Session<'_>, within: Duration) -> Result<ObjectRef, Failure> {
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
    pub async fn recreate(&mut self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let (kind, before) = (self.kind, self.created.clone().unwrap_or_default());
        let delete = session.writes.delete(kind, &before);
        let (deleted, created) = futures::join!(delete, self.create(session, DELETION));
        deleted.and(created)
    }

    async fn create_bare(&self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let metadata = |label: &str, value: &str| {
            let labels = json!({label: value, LABEL_RUN: session.plan.run});
            json!({"namespace": self.key.namespace, "name": self.key.name, "labels": labels})
        };
        let object = match self.kind {
            ObjectKind::ClusterProfile => json!({
                "metadata": metadata(names::LABEL_MANAGER, FIELD_MANAGER),
                "spec": {"displayName": self.display_name(), "clusterManager": {"name": FIELD_MANAGER}},
            }),
            // A decision without clusters: a consumer that finds it does nothing.
            ObjectKind::PlacementDecision => json!({
                "metadata": metadata(names::LABEL_DECISION_KEY, &self.key.name),
                "schedulerName": FIELD_MANAGER,
                "decisions": [],
            }),
        };
        let created = session.writes.create(self.kind, &self.key, object).await?;
        Ok(ObjectRef::of_value(&created, self.kind.name()))
    }
}

/// A complete status, so that the run notices an implementation that overwrites it.
fn status(session: &Session<'_>) -> Value {
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "Foreign", "message": "put here by the conformance suite",
            "lastTransitionTime": format!("{:.0}", session.now()),
        })
    };
    json!({
        "version": {"kubernetes": "v1.34.0"},
        "conditions": [condition(names::CONDITION_HEALTHY), condition(names::CONDITION_JOINED)],
    })
}

pub(super) async fn create_once_free<T, F>(
    session: &Session<'_>,
    within: Duration,
    retry: Duration,
    create: impl Fn() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let deadline = session.after(within);
    loop {
        match create().await {
            Err(failure) if failure.code() == 409 && session.now() < deadline => session.pause(retry).await,
            outcome => return outcome,
        }
    }
}

impl DriverScenario<'_, '_> {
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
            key: ObjectKey {
                namespace,
                name: format!("conformance-{}-foreign", session.plan.run),
            },
            created: None,
        });
    }

    pub(super) async fn create_foreign_object(&mut self, step: &mut DriverStep) -> Result<Taken, String> {
        let session = self.session;
        let Some(object) = &mut self.foreign else {
            return Err("no object of the implementation shows in which namespace to create one".to_owned());
        };
        let namespaces = vec![object.namespace().to_owned()];
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
            && Some(&*profile.metadata.namespace) != session.plan.own_namespace.as_deref()
    })
}

fn first_namespace<T: Tracked>(record: &Record<T>, is_chosen: impl Fn(&T) -> bool) -> Option<String> {
    let mut current = record.after(0).iter().filter_map(History::current);
    let object = current.find(|object| is_chosen(object))?;
    Some(object.metadata().namespace.to_string())
}
