//! Puts a profile of another manager, or a slice of another scheduler, beside those of the implementation, which must not
//! touch it.

use evidence::{
    DriverAction, ObjectKey, ObjectRef, Scenario,
    api::{ObjectKind, names},
    runs::LABEL_RUN,
};
use serde_json::{Value, json};
use tokio::{select, sync::watch};

use crate::{
    connect::failure::Failure,
    driver::{
        hooks::Called,
        journal::UndoEntry,
        scenario_placement,
        session::{STOPPED, Session},
        writes::{OURSELVES, undo_creation},
    },
};

/// The scenario: the object is there until all others are over.
pub(super) async fn foreigner(
    session: &Session<'_>,
    kind: ObjectKind,
    mut all_are_over: watch::Receiver<bool>,
) {
    let (action, first) = match kind {
        ObjectKind::ClusterProfile => (DriverAction::PutForeignProfile, DriverAction::Join),
        ObjectKind::PlacementDecision => (DriverAction::PutForeignSlice, DriverAction::Place),
    };
    if !session.capabilities.support(&[action]) {
        return;
    }
    let place = if session.capabilities.support(&[first]) {
        select! {
            place = place(session, kind) => Some(place),
            _ = all_are_over.wait_for(|over| *over) => None,
        }
    } else {
        None
    };
    let mut step = session.begin(Scenario::ForeignProfile, action, "", None);
    let Some(namespace) = place.or_else(|| any_place(session, kind)) else {
        let reason = match kind {
            ObjectKind::ClusterProfile => "there is no profile of the implementation to put it beside",
            ObjectKind::PlacementDecision => "there is no slice of the scheduler to put it beside",
        };
        session.skip_step(step, reason);
        return;
    };
    if session.stop.is_cancelled() {
        session.skip_step(step, STOPPED);
        return;
    }
    let key = ObjectKey {
        namespace,
        name: format!("conformance-{}-foreign", session.plan.run),
    };
    let undo = match kind {
        ObjectKind::ClusterProfile => UndoEntry::Profile { profile: key.clone() },
        ObjectKind::PlacementDecision => UndoEntry::Slice { slice: key.clone() },
    };
    let undo = match session.record_undo(undo) {
        Ok(undo) => undo,
        Err(reason) => {
            session.skip_step(step, reason);
            return;
        }
    };
    let put = match kind {
        ObjectKind::ClusterProfile => put_profile(session, &key).await,
        ObjectKind::PlacementDecision => put_slice(session, &key).await,
    };
    match put {
        Ok(object) => {
            let (uid, version) = (&object.uid, &object.resource_version);
            match kind {
                ObjectKind::ClusterProfile => session.delivered(&session.context.record, uid, version).await,
                ObjectKind::PlacementDecision => {
                    session.delivered(&session.context.slices, uid, version).await
                }
            }
            match kind {
                ObjectKind::ClusterProfile => step.profile = Some(object),
                ObjectKind::PlacementDecision => step.slice = Some(object),
            }
            session.did(&mut step, Called::done());
            let deadline = step.deadline();
            session.look_until(deadline, &mut step, |_| false).await;
            select! {
                () = session.stop.cancelled() => {}
                _ = all_are_over.wait_for(|over| *over) => {}
            }
            step.looked_until = session.now();
        }
        Err(failure) => session.did(&mut step, Called::failed(failure.to_string())),
    }
    session.end(step);
    match undo_creation(
        session.context.client,
        session.context.target,
        &session.plan.run,
        kind,
        &key,
    )
    .await
    {
        Ok(()) => session.undone(undo),
        Err(failure) => session.report_leftover(format!(
            "{} {}/{} of the run's own is still there: {failure}",
            kind.name(),
            key.namespace,
            key.name,
        )),
    }
}

/// The namespace of the first object that the implementation makes for the run.
async fn place(session: &Session<'_>, kind: ObjectKind) -> String {
    loop {
        let place = match kind {
            ObjectKind::ClusterProfile => session.first_place(),
            ObjectKind::PlacementDecision => scenario_placement::first_place(session),
        };
        if let Some(namespace) = place {
            return namespace;
        }
        session.tick().await;
    }
}

/// The namespace of any object that is there.
fn any_place(session: &Session<'_>, kind: ObjectKind) -> Option<String> {
    if kind == ObjectKind::PlacementDecision {
        return scenario_placement::any_place(session);
    }
    let scope = session.context.scope;
    let record = session.record();
    let mut there = record.after(0).iter().filter_map(|history| history.current());
    let profile = there.find(|profile| scope.holds(profile))?;
    Some(profile.metadata.namespace.to_string())
}

/// Identifies an object of another producer.
fn metadata(session: &Session<'_>, key: &ObjectKey, label: &str, value: &str) -> Value {
    json!({
        "namespace": key.namespace,
        "name": key.name,
        "labels": {label: value, LABEL_RUN: session.plan.run},
    })
}

async fn put_profile(session: &Session<'_>, key: &ObjectKey) -> Result<ObjectRef, Failure> {
    let profile = json!({
        "metadata": metadata(session, key, names::LABEL_MANAGER, OURSELVES),
        "spec": {"displayName": key.name, "clusterManager": {"name": OURSELVES}},
    });
    let created = session
        .writes
        .create(ObjectKind::ClusterProfile, key, profile)
        .await?;
    let created = ObjectRef::of_value(&created, names::KIND);
    let stored = session.writes.set_status(&created, &status(session)).await?;
    Ok(ObjectRef::of_value(&stored, names::KIND))
}

/// A decision for no cluster: a consumer that finds it does nothing.
async fn put_slice(session: &Session<'_>, key: &ObjectKey) -> Result<ObjectRef, Failure> {
    let slice = json!({
        "metadata": metadata(session, key, names::LABEL_DECISION_KEY, &key.name),
        "schedulerName": OURSELVES,
        "decisions": [],
    });
    let kind = ObjectKind::PlacementDecision;
    let created = session.writes.create(kind, key, slice).await?;
    Ok(ObjectRef::of_value(&created, kind.name()))
}

/// A status like any other: who fills the empty ones of others would be found out too, but so is who overwrites.
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
