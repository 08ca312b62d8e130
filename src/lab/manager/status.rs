//! The manager's knowledge of a member, and the profile's status made of it.

use std::collections::BTreeSet;

use evidence::api::names::{
    CONDITION_HEALTHY, CONDITION_JOINED, PROPERTIES_CLUSTER_ID, PROPERTY_CLUSTERSET, PROPERTY_ENDPOINTS,
    PROPERTY_LOCATION, PROPERTY_METRICS_ENDPOINTS, PROPERTY_NODE_COUNT, PROPERTY_NODE_TYPES,
    PROPERTY_RESOURCE_GROUPS,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    access::Access,
    address::endpoints,
    members::{DEGRADED, Member, QUIET, QUIET_IN_SET, SET, SET_NAMESPACE},
};

/// A ClusterProperty that is not standard.
pub(super) const OWN_PROPERTY: &str = "residency.example.com";

/// The manager's knowledge of a member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Status {
    pub kubernetes: Option<String>,
    pub properties: Vec<Property>,
    pub conditions: Vec<Condition>,
    pub access: Vec<Access>,
}

/// A name and a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Property {
    pub name: String,
    pub value: String,
    /// True if it is observed on the member, rather than decided on the hub.
    pub observed: bool,
    /// A wrong observation time, if a fault sets one.
    pub claimed_time: Option<Timestamp>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub kind: String,
    pub status: &'static str,
    pub reason: String,
    pub message: String,
    /// The last transition.
    pub since: Timestamp,
}

impl Status {
    /// The first status of `member`, the `number`th of the fleet, as of `now`.
    pub(super) fn of(member: &Member<'_>, number: usize, now: Timestamp) -> Self {
        let healthy = match member.name {
            DEGRADED => Condition::new(
                CONDITION_HEALTHY,
                "False",
                "SchedulerDown",
                "the scheduler does not answer",
                now,
            ),
            _ => healthy(now),
        };
        Self {
            kubernetes: Some(member.kubernetes.to_owned()),
            properties: properties(member, number),
            conditions: vec![healthy, joined(now)],
            access: vec![Access::of(member, number)],
        }
    }

    /// The value of the property of that name, or an empty string.
    pub(super) fn value(&self, name: &str) -> &str {
        let property = self.properties.iter().find(|property| property.name == name);
        property.map_or("", |property| &property.value)
    }

    /// Sets the value of the property of that name, if it exists.
    pub(super) fn set_value(&mut self, name: &str, value: &str) {
        self.alter_property(name, |property| property.value = value.to_owned());
    }

    /// Changes the property of that name, if it exists.
    pub(super) fn alter_property(&mut self, name: &str, change: impl Fn(&mut Property)) {
        self.properties
            .iter_mut()
            .filter(|property| property.name == name)
            .for_each(change);
    }

    /// Changes the condition of that type, if it exists.
    pub(super) fn alter(&mut self, kind: &str, change: impl Fn(&mut Condition)) {
        self.conditions
            .iter_mut()
            .filter(|condition| condition.kind == kind)
            .for_each(change);
    }

    /// Replaces the condition of the same type, if it exists.
    pub(super) fn report(&mut self, condition: &Condition) {
        self.alter(&condition.kind, |old| *old = condition.clone());
    }

    /// The `status` to send. It has every field, so that a merge patch removes old values.
    pub(super) fn to_json(&self, generation: i64, now: Timestamp) -> Value {
        let properties: Vec<Value> = self
            .properties
            .iter()
            .map(|property| {
                let mut json = json!({"name": property.name, "value": property.value});
                if property.observed {
                    json["lastObservedTime"] = rfc3339(property.claimed_time.unwrap_or(now)).into();
                }
                json
            })
            .collect();
        let conditions: Vec<Value> = self
            .conditions
            .iter()
            .map(|condition| {
                json!({
                    "type": condition.kind,
                    "status": condition.status,
                    "reason": condition.reason,
                    "message": condition.message,
                    "lastTransitionTime": rfc3339(condition.since),
                    "observedGeneration": generation,
                })
            })
            .collect();
        let access: Vec<Value> = self.access.iter().map(Access::to_json).collect();
        json!({
            "version": self.kubernetes.as_ref().map(|version| json!({"kubernetes": version})),
            "properties": properties,
            "conditions": conditions,
            "accessProviders": access,
        })
    }
}

impl Condition {
    pub(super) fn new(
        kind: &str,
        status: &'static str,
        reason: &str,
        message: &str,
        since: Timestamp,
    ) -> Self {
        Self {
            kind: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
            since,
        }
    }
}

/// The control plane answers.
pub(super) fn healthy(now: Timestamp) -> Condition {
    Condition::new(
        CONDITION_HEALTHY,
        "True",
        "ControlPlaneHealthy",
        "all checks of the control plane pass",
        now,
    )
}

/// The manager manages the member.
pub(super) fn joined(now: Timestamp) -> Condition {
    Condition::new(
        CONDITION_JOINED,
        "True",
        "Registered",
        "the member is managed",
        now,
    )
}

/// A check of the control plane fails.
pub(super) fn unready(check: &str, now: Timestamp) -> Condition {
    Condition::new(
        CONDITION_HEALTHY,
        "False",
        "ControlPlaneUnready",
        &format!("the member's API server reports that {check} fails"),
        now,
    )
}

/// The value of the property that identifies a member.
pub(super) fn cluster_id(number: usize) -> String {
    format!(
        "6f1c7a52-3d0e-4b8f-9a41-{:012x}",
        0x00c0_ffee_0000_u64 + number as u64
    )
}

/// RFC 3339 in seconds, as Kubernetes writes times.
pub(super) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn properties(member: &Member<'_>, number: usize) -> Vec<Property> {
    let node_types = match number % 3 {
        0 => json!(["standard-8"]),
        1 => json!(["standard-8", "standard-16"]),
        _ => json!(["standard-4", "highmem-16", "a100-2"]),
    };
    let metrics = json!([{"Prometheus": format!("https://{}.metrics.example:9090", member.name)}]);
    let mut properties: Vec<Property> = cluster_properties(member, number)
        .into_iter()
        .map(|(name, value)| Property {
            observed: name != PROPERTY_CLUSTERSET,
            ..observed(name, &value)
        })
        .collect();
    properties.extend([
        observed(
            PROPERTY_ENDPOINTS,
            &json!(endpoints(member.name, number)).to_string(),
        ),
        observed(PROPERTY_LOCATION, member.location),
        observed(PROPERTY_NODE_COUNT, &member.nodes.to_string()),
        observed(PROPERTY_NODE_TYPES, &node_types.to_string()),
        observed(PROPERTY_METRICS_ENDPOINTS, &metrics.to_string()),
        observed(
            PROPERTY_RESOURCE_GROUPS,
            &json!(custom_resource_groups(number)).to_string(),
        ),
    ]);
    properties
}

/// A member's ClusterProperties. All have the label that lets them appear in a profile, which is right in every edition.
pub(super) fn cluster_properties(member: &Member<'_>, number: usize) -> Vec<(&'static str, String)> {
    let mut properties = vec![(PROPERTIES_CLUSTER_ID[0], cluster_id(number))];
    if member.namespace == SET_NAMESPACE {
        properties.push((PROPERTY_CLUSTERSET, SET.to_owned()));
    }
    if [QUIET, QUIET_IN_SET].contains(&member.name) {
        properties.push((OWN_PROPERTY, "european-union".to_owned()));
    }
    properties
}

/// The groups of a member's custom resource definitions. The About API is one of them, since the member's id is a
/// ClusterProperty.
pub(super) fn custom_resource_groups(number: usize) -> BTreeSet<String> {
    let groups: &[&str] = match number % 2 {
        0 => &["about.k8s.io", "argoproj.io", "cert-manager.io"],
        _ => &["about.k8s.io", "kueue.x-k8s.io"],
    };
    groups.iter().map(|group| (*group).to_owned()).collect()
}

/// A property observed on the member.
pub(super) fn observed(name: &str, value: &str) -> Property {
    Property {
        name: name.to_owned(),
        value: value.to_owned(),
        observed: true,
        claimed_time: None,
    }
}
