//! Faults of state that a manager may have for some time, each of one rule.

use evidence::api::{Edition, names};
use serde_json::{Value, json};

/// Rules, and what breaks them.
pub const FAULTS: [&str; 12] = [
    "identity/manager-label-present",
    "identity/manager-label-matches",
    "identity/member-id-non-empty",
    "properties/cluster-endpoints-present",
    "properties/cluster-endpoints-well-formed",
    "properties/node-count-well-formed",
    "properties/node-types-well-formed",
    "access/server-is-url",
    "conditions/well-formed",
    "conditions/observed-generation-not-ahead",
    "conditions/joined-reported",
    "version/well-formed",
];

/// An edition that has the rule.
pub fn edition(rule: &str) -> Edition {
    if rule == "identity/member-id-non-empty" {
        Edition::Y2026M09
    } else {
        Edition::Standard
    }
}

/// Whether the fault is in the status.
pub fn is_of_status(rule: &str) -> bool {
    !rule.starts_with("identity/")
}

/// Breaks a profile.
pub fn break_(rule: &str, profile: &mut Value) {
    let labels = &mut profile["metadata"]["labels"];
    match rule {
        "identity/manager-label-present" => {
            labels
                .as_object_mut()
                .expect("labels")
                .remove(names::LABEL_MANAGER);
        }
        "identity/manager-label-matches" => labels[names::LABEL_MANAGER] = "wrong".into(),
        "identity/member-id-non-empty" => labels[names::LABEL_MEMBER_ID] = "".into(),
        _ => break_status(rule, &mut profile["status"]),
    }
}

fn break_status(rule: &str, status: &mut Value) {
    match rule {
        "properties/cluster-endpoints-present" => {
            status["properties"].as_array_mut().expect("properties").remove(0);
        }
        "properties/cluster-endpoints-well-formed" => {
            status["properties"][0]["value"] = r#"["no where"]"#.into();
        }
        "properties/node-count-well-formed" => status["properties"][3]["value"] = "many".into(),
        "properties/node-types-well-formed" => status["properties"][4]["value"] = "many".into(),
        "access/server-is-url" => status["accessProviders"][0]["cluster"]["server"] = "https://".into(),
        "conditions/well-formed" => status["conditions"][0]["reason"] = "no reason!".into(),
        "conditions/observed-generation-not-ahead" => {
            status["conditions"][0]["observedGeneration"] = 7.into();
        }
        "conditions/joined-reported" => {
            let conditions = status["conditions"].as_array_mut().expect("conditions");
            conditions.retain(|condition| condition["type"] != names::CONDITION_JOINED);
        }
        "version/well-formed" => status["version"] = json!({"kubernetes": "latest"}),
        _ => unreachable!("{rule}"),
    }
}
