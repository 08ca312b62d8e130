//! Puts a profile of another manager beside the implementation's, which must not touch it.

use evidence::{DriverAction, ObjectKey, ObjectRef, Scenario, api::names, runs::LABEL_RUN};
use serde_json::{Value, json};
use tokio::{select, sync::watch};

use crate::{
    call::Failure,
    driver::{
        hooks::Called,
        journal::UndoEntry,
        session::{STOPPED, Session},
        writes::{OURSELVES, undo_creation},
    },
};

/// The scenario: the profile is there until all others are over.
pub(super) async fn foreigner(session: &Session<'_>, mut all_are_over: watch::Receiver<bool>) {
    if !session.capabilities.support(&[DriverAction::PutForeigner]) {
        return;
    }
    let place = if session.capabilities.support(&[DriverAction::Join]) {
        select! {
            place = place(session) => Some(place),
            _ = all_are_over.wait_for(|over| *over) => None,
        }
    } else {
        None
    };
    let mut step = session.begin(Scenario::Foreigner, DriverAction::PutForeigner, "", None);
    let Some(namespace) = place.or_else(|| any_place(session)) else {
        session.skip_step(step, "there is no profile of the implementation to put it beside");
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
    let undo = match session.record_undo(UndoEntry::Profile { profile: key.clone() }) {
        Ok(undo) => undo,
        Err(reason) => {
            session.skip_step(step, reason);
            return;
        }
    };
    match put(session, &key).await {
        Ok(profile) => {
            session.delivered(&profile.uid, &profile.resource_version).await;
            step.profile = Some(profile);
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
        &key,
    )
    .await
    {
        Ok(()) => session.undone(undo),
        Err(failure) => session.report_leftover(format!(
            "ClusterProfile {}/{} of the run's own is still there: {}",
            key.namespace, key.name, failure
        )),
    }
}

/// The namespace of the first profile that the implementation makes for a member of the run.
async fn place(session: &Session<'_>) -> String {
    loop {
        if let Some(namespace) = session.first_place() {
            return namespace;
        }
        session.tick().await;
    }
}

/// The namespace of any profile that is there.
fn any_place(session: &Session<'_>) -> Option<String> {
    let scope = &session.context.plan.scope;
    let record = session.record();
    let mut there = record.after(0).iter().filter_map(|history| history.current());
    let profile = there.find(|profile| scope.holds(profile))?;
    Some(profile.metadata.namespace.to_string())
}

async fn put(session: &Session<'_>, key: &ObjectKey) -> Result<ObjectRef, Failure> {
    let api_version = format!("{}/{}", names::GROUP, session.context.target.version);
    let profile = json!({
        "apiVersion": api_version,
        "kind": names::KIND,
        "metadata": {
            "namespace": key.namespace,
            "name": key.name,
            "labels": {names::LABEL_MANAGER: OURSELVES, LABEL_RUN: session.plan.run},
        },
        "spec": {"displayName": key.name, "clusterManager": {"name": OURSELVES}},
    });
    let created = session.writes.create(key, &profile).await?;
    let resource_version = session.writes.set_status(&created, &status(session)).await?;
    Ok(ObjectRef {
        resource_version,
        ..created
    })
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
