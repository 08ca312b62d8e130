//! The clusters to select from: profiles in two namespaces.

use collect::clock::Clock;
use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MANAGER, LABEL_MEMBER_ID};
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::client::{HubClient, ObjectTarget, RequestError, Via, is_false, rfc3339};

/// The cluster manager of the profiles, and its field manager.
const MANAGER: &str = "lab-inventory";
/// The namespace of most profiles.
pub(super) const MEMBERS: &str = "lab-members";
/// The namespace of a second inventory.
pub(super) const EDGE: &str = "lab-edge-members";
/// How many profiles the first inventory has, and the second.
const MEMBER_COUNT: usize = 180;
const EDGE_COUNT: usize = 6;

/// The name of the profile of that number.
pub(super) fn member(number: usize) -> String {
    format!("member-{number:03}")
}

/// Creates the profiles of both inventories.
pub(super) async fn publish(hub: &HubClient, clock: &Clock) -> Result<(), RequestError> {
    for (namespace, count) in [(MEMBERS, MEMBER_COUNT), (EDGE, EDGE_COUNT)] {
        for number in 0..count {
            publish_one(hub, clock, namespace, &member(number)).await?;
        }
    }
    Ok(())
}

/// Creates the profile of one cluster.
pub(super) async fn publish_one(
    hub: &HubClient,
    clock: &Clock,
    namespace: &str,
    name: &str,
) -> Result<(), RequestError> {
    let profile = json!({
        "metadata": {"labels": {LABEL_MANAGER: MANAGER, LABEL_MEMBER_ID: format!("{namespace}-{name}")}},
        "spec": {"displayName": name, "clusterManager": {"name": MANAGER}},
    });
    let (target, now) = (ObjectTarget::profile(namespace, name), clock.now());
    hub.create(&target, MANAGER, &profile).await?;
    let patch = status(true, now, now);
    hub.patch(&target, MANAGER, Via::Status, &patch).await.map(drop)
}

/// Reports a cluster of the first inventory as healthy or down.
pub(super) async fn report(
    hub: &HubClient,
    clock: &Clock,
    number: usize,
    is_healthy: bool,
) -> Result<(), RequestError> {
    let (target, now) = (ObjectTarget::profile(MEMBERS, &member(number)), clock.now());
    let profile = hub.find(&target).await?;
    let created = profile.and_then(|profile| profile.metadata.creation_timestamp);
    // A cluster joins once, when its profile is created.
    let patch = status(is_healthy, now, created.map_or(now, |created| created.0));
    hub.patch(&target, MANAGER, Via::Status, &patch).await.map(drop)
}

fn status(is_healthy: bool, now: Timestamp, joined_at: Timestamp) -> Value {
    let (healthy, reason) = if is_healthy {
        ("True", "HealthCheckPassed")
    } else {
        ("False", "HealthCheckFailed")
    };
    json!({"status": {
        "version": {"kubernetes": "v1.34.2"},
        "conditions": [
            {
                "type": CONDITION_HEALTHY, "status": healthy, "reason": reason, "message": "",
                "lastTransitionTime": rfc3339(now),
            },
            {
                "type": CONDITION_JOINED, "status": "True", "reason": "Registered", "message": "",
                "lastTransitionTime": rfc3339(joined_at),
            },
        ],
    }})
}

/// True unless the profile says that its cluster left or is down.
pub(super) fn is_available(profile: &DynamicObject) -> bool {
    profile.metadata.deletion_timestamp.is_none()
        && !is_false(profile, CONDITION_JOINED)
        && !is_false(profile, CONDITION_HEALTHY)
}
