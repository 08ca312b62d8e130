//! An object that the run creates for another implementation, which the judged one must not touch.

use evidence::{
    ObjectKey, ObjectRef,
    api::{ObjectKind, names},
    runs::LABEL_RUN,
};
use serde_json::{Value, json};

use crate::{
    connect::failure::Failure,
    driver::{journal::UndoEntry, scenario_placement, session::Session, writes::OURSELVES},
};

/// An object of another implementation.
pub(super) struct ForeignObject {
    kind: ObjectKind,
    key: ObjectKey,
}

impl ForeignObject {
    /// The object, in the namespace of an object of the judged implementation.
    pub fn new(session: &Session<'_>, kind: ObjectKind, namespace: String) -> Self {
        let name = format!("conformance-{}-foreign", session.plan.run);
        Self {
            kind,
            key: ObjectKey { namespace, name },
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

    /// Creates the object.
    pub async fn create(&self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        match self.kind {
            ObjectKind::ClusterProfile => self.create_profile(session).await,
            ObjectKind::PlacementDecision => self.create_slice(session).await,
        }
    }

    async fn create_profile(&self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let profile = json!({
            "metadata": self.metadata(session, names::LABEL_MANAGER, OURSELVES),
            "spec": {"displayName": self.key.name, "clusterManager": {"name": OURSELVES}},
        });
        let created = session.writes.create(self.kind, &self.key, profile).await?;
        let created = ObjectRef::of_value(&created, self.kind.name());
        let stored = session.writes.set_status(&created, &status(session)).await?;
        Ok(ObjectRef::of_value(&stored, self.kind.name()))
    }

    /// A decision for no cluster: a consumer that finds it does nothing.
    async fn create_slice(&self, session: &Session<'_>) -> Result<ObjectRef, Failure> {
        let slice = json!({
            "metadata": self.metadata(session, names::LABEL_DECISION_KEY, &self.key.name),
            "schedulerName": OURSELVES,
            "decisions": [],
        });
        let created = session.writes.create(self.kind, &self.key, slice).await?;
        Ok(ObjectRef::of_value(&created, self.kind.name()))
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
    let profile = current.find(|profile| scope.holds(profile))?;
    Some(profile.metadata.namespace.to_string())
}
