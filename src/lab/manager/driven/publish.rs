//! Computes the profile that a member should have.

use std::collections::BTreeMap;

use evidence::api::{
    Labels,
    names::{
        CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MANAGER, LABEL_MEMBER_ID, PROPERTY_ENDPOINTS,
        PROPERTY_NODE_COUNT, PROPERTY_RESOURCE_GROUPS,
    },
};
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::look::{Health, Inventory};
use crate::{
    client::{Target, profile_resource},
    manager::{
        access::Access,
        address::host,
        members::FLEET,
        status::{Condition, Property, Status, healthy, joined, observed, rfc3339, unready},
        world::MANAGER,
    },
};

/// The name of a member's profile.
pub(super) fn profile_name(member: &str) -> String {
    format!("{MANAGER}-{member}")
}

/// The profile of a member, on the hub.
pub(super) fn target(member: &str) -> Target {
    Target {
        resource: profile_resource(),
        namespace: Some(FLEET.to_owned()),
        name: profile_name(member),
    }
}

/// The labels of a member's profile.
pub(super) fn labels(member: &str) -> Labels {
    BTreeMap::from([
        (LABEL_MANAGER.to_owned(), MANAGER.to_owned()),
        (LABEL_MEMBER_ID.to_owned(), member.to_owned()),
    ])
}

/// The display name of a new profile. Afterwards consumers own it.
pub(super) fn display_name(member: &str) -> String {
    format!("Cluster {member}")
}

/// A member's profile, to create.
pub(super) fn profile(member: &str, display_name: &str) -> Value {
    json!({
        "metadata": {"namespace": FLEET, "name": profile_name(member), "labels": labels(member)},
        "spec": {"displayName": display_name, "clusterManager": {"name": MANAGER}},
    })
}

/// True if a profile on the hub is the manager's.
pub(super) fn is_ours(profile: &DynamicObject) -> bool {
    profile.data["spec"]["clusterManager"]["name"] == MANAGER
}

/// The status that a member's profile should have, given its present state `before`. Unchanged parts keep their times, so
/// that a correct status stays the same.
pub(super) fn status(
    known: Option<&Inventory>,
    health: &Health,
    access: Access,
    before: &DynamicObject,
    now: Timestamp,
) -> Value {
    let generation = before.metadata.generation.unwrap_or_default();
    let before = &before.data["status"];
    let member = access.cluster.clone();
    let status = Status {
        kubernetes: known.map(|known| known.version.clone()),
        properties: properties(&member, known),
        conditions: vec![
            control_plane(health, now),
            if known.is_some() || has_answered(before) {
                joined(now)
            } else {
                Condition::new(
                    CONDITION_JOINED,
                    "False",
                    "Pending",
                    "the member has not answered yet",
                    now,
                )
            },
        ],
        access: vec![access],
    };
    let mut status = status.to_json(generation, now);
    if known.is_none() && has_answered(before) {
        for part in ["version", "properties"] {
            status[part] = before[part].clone();
        }
    }
    keep_times(
        &mut status["properties"],
        &before["properties"],
        "name",
        "value",
        "lastObservedTime",
        now,
    );
    keep_times(
        &mut status["conditions"],
        &before["conditions"],
        "type",
        "status",
        "lastTransitionTime",
        now,
    );
    if let Value::Object(parts) = &mut status {
        parts.retain(|_, part| !part.is_null());
    }
    status
}

/// The merge patch that turns a profile's status into `wanted`, if they differ.
pub(super) fn difference(before: &DynamicObject, wanted: &Value) -> Option<Value> {
    let before = &before.data["status"];
    if before == wanted {
        return None;
    }
    let mut patch = wanted.clone();
    let parts = before.as_object().into_iter().flatten();
    for (part, _) in parts.filter(|(part, _)| wanted.get(part.as_str()).is_none()) {
        patch[part] = Value::Null;
    }
    Some(json!({"status": patch}))
}

/// The merge patch that sets missing labels, if any are.
pub(super) fn missing_labels(member: &str, before: &DynamicObject) -> Option<Value> {
    let mut missing = labels(member);
    let there = before.metadata.labels.clone().unwrap_or_default();
    missing.retain(|key, value| there.get(key) != Some(value));
    (!missing.is_empty()).then(|| json!({"metadata": {"labels": missing}}))
}

fn properties(member: &str, known: Option<&Inventory>) -> Vec<Property> {
    let mut properties = Vec::new();
    let mut add = |name: &str, value: String| {
        // The member's own value for a name takes precedence over the manager's.
        if !properties.iter().any(|known: &Property| known.name == name) {
            properties.push(observed(name, &value));
        }
    };
    for (name, value) in known.into_iter().flat_map(|known| &known.properties) {
        add(name, value.clone());
    }
    add(PROPERTY_ENDPOINTS, json!([host(member)]).to_string());
    if let Some(known) = known {
        add(PROPERTY_NODE_COUNT, known.nodes.to_string());
        add(PROPERTY_RESOURCE_GROUPS, json!(known.groups).to_string());
    }
    properties
}

/// True if the member has ever answered, even before a restart.
fn has_answered(status: &Value) -> bool {
    status["version"].is_object()
}

fn control_plane(health: &Health, now: Timestamp) -> Condition {
    match health {
        Health::Well => healthy(now),
        Health::Failing(checks) => unready(&checks.join(", "), now),
        Health::Stale(lease) => Condition::new(
            CONDITION_HEALTHY,
            "False",
            "ControlPlaneDown",
            &format!("{lease} does not renew its lease"),
            now,
        ),
        Health::Silent => Condition::new(
            CONDITION_HEALTHY,
            "Unknown",
            "ApiServerUnreachable",
            "the member's API server does not answer",
            now,
        ),
    }
}

/// Keeps the times of entries whose name and value did not change.
fn keep_times(list: &mut Value, before: &Value, name: &str, said: &str, time: &str, now: Timestamp) {
    for entry in list.as_array_mut().into_iter().flatten() {
        let mut known = before.as_array().into_iter().flatten();
        let known = known.find(|known| known[name] == entry[name] && known[said] == entry[said]);
        if let Some(known) = known.and_then(|known| known[time].as_str())
            && is_past(known, now)
        {
            entry[time] = known.into();
        }
    }
}

/// True if a time is not in the future: no observation can be.
fn is_past(time: &str, now: Timestamp) -> bool {
    let parsed: Result<Timestamp, _> = time.parse();
    parsed.is_ok_and(|time| rfc3339(time) <= rfc3339(now))
}
