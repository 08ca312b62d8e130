//! An object that the run creates for another implementation, which the judged one must not touch.

use std::time::Duration;

use evidence::{
    ObjectKey, ObjectRef,
    api::{ClusterProfile, ObjectKind, names},
    runs::LABEL_RUN,
};
use serde_json::{Value, json};

use crate::{
    connect::failure::Failure,
    driver::{journal::UndoEntry, scenario_placement, session::Session, writes::OURSELVES},
};

/// How long the hub may take to delete an object without finalizers.
const DELETION: Duration = Duration::from_secs(10);
/// How soon the run tries again to create an object whose name is still in use.
const RETRY: Duration = Duration::from_millis(5);

/// An object of another implementation.
pub(super) struct ForeignObject {
    kind: ObjectKind,
    key: ObjectKey,
    /// The object on the hub, once the run has created it.
    pub created: Option<ObjectRef>,
}

impl ForeignObject {
    /// The object, in the namespace of an object of the judged implementation.
    pub fn new(session: &Session<'_>, kind: ObjectKind, namespace: String) -> Self {
        let name = format!("conformance-{}-foreign", session.plan.run);
        Self {
            kind,
            key: ObjectKey { namespace, name },
            created: None,
        }
    }

    /// How to undo its creation.
    pub fn undo(&self) -> UndoEntry {
        let key = self.key.clone();
        match self.kind {
            ObjectKind::ClusterProfile => UndoEntry::Profile { profile: key },
            ObjectKind::PlacementDecision => UndoEntry::Slice { slice: key },
        }
    }

    /// The display name that the run gives to a profile.
    pub fn display_name(&self) -> &str {
        &self.key.name
    }

    /// Creates the object.
    pub async fn create(&mut self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let created = self.create_bare(session).await?;
        self.fill(session, created).await
    }

    /// Deletes the object, and creates it again as soon as its name is free.
    pub async fn recreate(&mut self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let before = self.created.clone().unwrap_or_default();
        let delete = session.writes.delete(self.kind, &before);
        let create = session.create_once_free(DELETION, RETRY, || self.create_bare(session));
        let (deleted, created) = futures::join!(delete, create);
        deleted?;
        let created = created?;
        match self.fill(session, created.clone()).await {
            // Another client has deleted it already.
            Err(failure) if failure.code() == 404 => Ok(created),
            outcome => outcome,
        }
    }

    async fn create_bare(&self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let object = match self.kind {
            ObjectKind::ClusterProfile => json!({
                "metadata": self.metadata(session, names::LABEL_MANAGER, OURSELVES),
                "spec": {"displayName": self.display_name(), "clusterManager": {"name": OURSELVES}},
            }),
            // A decision for no cluster: a consumer that finds it does nothing.
            ObjectKind::PlacementDecision => json!({
                "metadata": self.metadata(session, names::LABEL_DECISION_KEY, &self.key.name),
                "schedulerName": OURSELVES,
                "decisions": [],
            }),
        };
        let created = session.writes.create(self.kind, &self.key, object).await?;
        Ok(ObjectRef::of_value(&created, self.kind.name()))
    }

    /// Fills the status of a profile.
    async fn fill(&mut self, session: &Session<'_>, mut created: ObjectRef) -> Result<ObjectRef, Failure> {
        self.created = Some(created.clone());
        if self.kind == ObjectKind::ClusterProfile {
            let stored = session.writes.set_status(&created, &status(session)).await?;
            created = ObjectRef::of_value(&stored, self.kind.name());
        }
        Ok(created)
    }

    fn metadata(&self, session: &Session<'_>, label: &str, value: &str) -> Value {
        json!({
            "namespace": self.key.namespace,
            "name": self.key.name,
            "labels": {label: value, LABEL_RUN: session.plan.run},
        })
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

/// The namespace of the first object that the implementation makes for the run.
pub(super) async fn first_namespace(session: &Session<'_>, kind: ObjectKind) -> String {
    loop {
        let namespace = match kind {
            ObjectKind::ClusterProfile => session.first_place(),
            ObjectKind::PlacementDecision => scenario_placement::first_place(session),
        };
        if let Some(namespace) = namespace {
            return namespace;
        }
        session.tick().await;
    }
}

/// The namespace of any object of that kind.
pub(super) fn any_namespace(session: &Session<'_>, kind: ObjectKind) -> Option<String> {
    if kind == ObjectKind::PlacementDecision {
        return scenario_placement::any_place(session);
    }
    let scope = session.context.scope;
    let record = session.record();
    let mut current = record.after(0).iter().filter_map(|history| history.current());
    let own = session.plan.own_namespace.as_deref();
    let is_elsewhere = |profile: &&ClusterProfile| Some(&*profile.metadata.namespace) != own;
    let profile = current.find(|profile| scope.holds(profile) && is_elsewhere(profile))?;
    Some(profile.metadata.namespace.to_string())
}
