//! The clusters to select from: profiles in two namespaces.

use collect::clock::Clock;
use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MANAGER, LABEL_MEMBER_ID};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ApiResource;
use serde_json::json;

use crate::client::{Hub, RequestError, Target, Via, profile_resource};

/// The cluster manager of the profiles, and its field manager.
pub(super) const MANAGER: &str = "lab-inventory";
/// The namespace of most profiles.
pub(super) const MEMBERS: &str = "lab-members";
/// The namespace of a second inventory.
pub(super) const EDGE: &str = "lab-edge-members";
/// How many profiles the first inventory has, and the second.
pub(super) const MEMBER_COUNT: usize = 180;
pub(super) const EDGE_COUNT: usize = 6;

/// The state of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Well,
    Down,
}

/// The name of the profile of that number.
pub(super) fn member(number: usize) -> String {
    format!("member-{number:03}")
}

/// A profile on the hub.
pub(super) fn target(namespace: &str, name: &str) -> Target {
    Target {
        resource: profile_resource(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

/// Creates the profiles of both inventories.
pub(super) async fn publish(hub: &Hub, clock: &Clock) -> Result<(), RequestError> {
    for (namespace, count) in [(MEMBERS, MEMBER_COUNT), (EDGE, EDGE_COUNT)] {
        for number in 0..count {
            publish_one(hub, clock, namespace, &member(number)).await?;
        }
    }
    Ok(())
}

/// Creates the profile of one cluster.
pub(super) async fn publish_one(
    hub: &Hub,
    clock: &Clock,
    namespace: &str,
    name: &str,
) -> Result<(), RequestError> {
    let profile = json!({
        "metadata": {
            "namespace": namespace, "name": name,
            "labels": {LABEL_MANAGER: MANAGER, LABEL_MEMBER_ID: format!("{namespace}-{name}")},
        },
        "spec": {"displayName": name, "clusterManager": {"name": MANAGER}},
    });
    hub.create(&target(namespace, name), MANAGER, &profile).await?;
    let now = clock.now();
    report_since(hub, namespace, name, Health::Well, now, now).await
}

/// Writes a cluster's state into its profile.
pub(super) async fn report(
    hub: &Hub,
    namespace: &str,
    name: &str,
    health: Health,
    now: Timestamp,
) -> Result<(), RequestError> {
    // A cluster joins once, when its profile is created.
    let profile = hub.find(&target(namespace, name)).await?;
    let created = profile.and_then(|profile| profile.metadata.creation_timestamp);
    let joined_at = created.map_or(now, |created| created.0);
    report_since(hub, namespace, name, health, now, joined_at).await
}

/// The same for a cluster that joined then.
async fn report_since(
    hub: &Hub,
    namespace: &str,
    name: &str,
    health: Health,
    now: Timestamp,
    joined_at: Timestamp,
) -> Result<(), RequestError> {
    let condition = |kind: &str, (status, reason): (&str, &str), since: Timestamp| {
        // The hub takes whole seconds only.
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        json!({
            "type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": since,
        })
    };
    let healthy = match health {
        Health::Well => ("True", "HealthCheckPassed"),
        Health::Down => ("False", "HealthCheckFailed"),
    };
    let status = json!({"status": {
        "version": {"kubernetes": "v1.34.2"},
        "conditions": [
            condition(CONDITION_HEALTHY, healthy, now),
            condition(CONDITION_JOINED, ("True", "Registered"), joined_at),
        ],
    }});
    let target = target(namespace, name);
    hub.patch(&target, MANAGER, Via::Status, &status).await.map(drop)
}

/// Creates a namespace.
pub(super) async fn create_namespace(hub: &Hub, name: &str) -> Result<(), RequestError> {
    let target = Target {
        resource: ApiResource::erase::<Namespace>(&()),
        namespace: None,
        name: name.to_owned(),
    };
    let namespace = json!({"metadata": {"name": name}});
    hub.create(&target, MANAGER, &namespace).await.map(drop)
}
