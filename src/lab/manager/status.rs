//! Computes the status that a member's profile should have.

use evidence::api::names::{
    CONDITION_HEALTHY, CONDITION_JOINED, PROPERTY_NODE_COUNT, PROPERTY_RESOURCE_GROUPS,
};
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{
    look::{Health, Inventory},
    members::access_provider,
    world::FleetMember,
};
use crate::client::rfc3339;

/// The status that a member's profile should have, given its present state `there`. Unchanged parts keep their times, so
/// that a correct status stays the same.
pub(super) fn status(
    member: &FleetMember,
    inventory: Option<&Inventory>,
    health: &Health,
    there: &DynamicObject,
    now: Timestamp,
) -> Value {
    let generation = there.metadata.generation.unwrap_or_default();
    let before = &there.data["status"];
    // True even before a restart.
    let has_answered = before["version"].is_object();
    let joined = if inventory.is_some() || has_answered {
        ("True", "Registered", "the member is managed".to_owned())
    } else {
        ("False", "Pending", "the member has not answered yet".to_owned())
    };
    let condition = |kind: &str, (status, reason, message): (&str, &str, String)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": rfc3339(now), "observedGeneration": generation,
        })
    };
    let mut status = json!({
        "properties": properties(member, inventory, now),
        "conditions": [
            condition(CONDITION_HEALTHY, control_plane(health)),
            condition(CONDITION_JOINED, joined),
        ],
        "accessProviders": [access_provider(&member.name, &member.ca_data, member.proxy)],
    });
    match inventory {
        Some(inventory) => status["version"] = json!({"kubernetes": inventory.version}),
        None if has_answered => {
            for part in ["version", "properties"] {
                if let Some(before) = before.get(part) {
                    status[part] = before.clone();
                }
            }
        }
        None => {}
    }
    for (list, name, value, time) in [
        ("properties", "name", "value", "lastObservedTime"),
        ("conditions", "type", "status", "lastTransitionTime"),
    ] {
        keep_times(&mut status[list], &before[list], [name, value], time, now);
    }
    status
}

/// The merge patch that turns a profile's status into `status`, if they differ.
pub(super) fn difference(there: &DynamicObject, status: &Value) -> Option<Value> {
    let before = &there.data["status"];
    if before == status {
        return None;
    }
    let mut patch = status.clone();
    let parts = before.as_object().into_iter().flatten();
    for (part, _) in parts.filter(|(part, _)| status.get(part.as_str()).is_none()) {
        patch[part] = Value::Null;
    }
    Some(json!({"status": patch}))
}

/// An entry of `properties` that was observed now.
pub(super) fn property(name: &str, value: &str, now: Timestamp) -> Value {
    json!({"name": name, "value": value, "lastObservedTime": rfc3339(now)})
}

fn properties(member: &FleetMember, inventory: Option<&Inventory>, now: Timestamp) -> Vec<Value> {
    let mut values: Vec<(&str, String)> = Vec::new();
    for (name, value) in inventory.into_iter().flat_map(|inventory| &inventory.properties) {
        values.push((name, value.clone()));
    }
    values.extend(member.known_properties.iter().cloned());
    if let Some(inventory) = inventory {
        values.push((PROPERTY_NODE_COUNT, inventory.nodes.to_string()));
        values.push((PROPERTY_RESOURCE_GROUPS, json!(inventory.groups).to_string()));
    }
    let mut properties: Vec<Value> = Vec::new();
    for (name, value) in values {
        // The member's own value for a name takes precedence over the manager's.
        if properties.iter().all(|property| property["name"] != name) {
            properties.push(property(name, &value, now));
        }
    }
    properties
}

/// Status, reason and message of the control plane's condition.
fn control_plane(health: &Health) -> (&'static str, &'static str, String) {
    match health {
        Health::Well => (
            "True",
            "ControlPlaneHealthy",
            "all checks of the control plane pass".to_owned(),
        ),
        Health::Failing(checks) => (
            "False",
            "ControlPlaneUnready",
            format!("the member's API server reports that {} fails", checks.join(", ")),
        ),
        Health::Stale(lease) => (
            "False",
            "ControlPlaneDown",
            format!("{lease} does not renew its lease"),
        ),
        Health::Silent => (
            "Unknown",
            "ApiServerUnreachable",
            "the member's API server does not answer".to_owned(),
        ),
    }
}

/// Keeps the times of entries whose name and value did not change.
fn keep_times(list: &mut Value, before: &Value, compared: [&str; 2], time: &str, now: Timestamp) {
    for entry in list.as_array_mut().into_iter().flatten() {
        let mut entries = before.as_array().into_iter().flatten();
        let old = entries.find(|old| compared.iter().all(|field| old[field] == entry[field]));
        let old_time = old.and_then(|old| old[time].as_str()).unwrap_or_default();
        // Another client may have written a time in the future, which no observation can have.
        if old_time
            .parse()
            .is_ok_and(|time: Timestamp| rfc3339(time) <= rfc3339(now))
        {
            entry[time] = old_time.into();
        }
    }
}
