//! Finds the suite's admission policies on the hub, where the runner may list them.

use std::{collections::BTreeMap, time::Duration};

use evidence::policies::{ANNOTATION_RULES, InstalledPolicy, LABEL_EDITION, is_rule_id};
use serde_json::Value;
use tokio::time::timeout;

use crate::connect::call::{TimedClient, get};

/// How long each list may take: a run can do without.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most policies and rules that are kept.
const MOST: usize = 100;

/// The suite's policies with a binding; none if the hub has no such API, or does not show them.
pub(super) async fn installed(client: &TimedClient) -> Option<Vec<InstalledPolicy>> {
    let policies = list(client, "validatingadmissionpolicies").await?;
    if items(&policies).next().is_none() {
        return Some(Vec::new());
    }
    let bindings = list(client, "validatingadmissionpolicybindings").await?;
    // A policy without a binding judges nothing.
    let mut denies: BTreeMap<&str, bool> = BTreeMap::new();
    for binding in items(&bindings) {
        let spec = &binding["spec"];
        if let Some(name) = spec["policyName"].as_str() {
            let actions = spec["validationActions"].as_array();
            let denying = actions.is_some_and(|actions| actions.iter().any(|action| action == "Deny"));
            *denies.entry(name).or_default() |= denying;
        }
    }
    let policies = items(&policies).filter_map(|policy| {
        let metadata = &policy["metadata"];
        let name = metadata["name"].as_str()?;
        let rules = metadata["annotations"][ANNOTATION_RULES]
            .as_str()
            .unwrap_or_default();
        let rules = rules.split(',').filter(|id| is_rule_id(id)).take(MOST);
        Some(InstalledPolicy {
            name: name.to_owned(),
            edition: metadata["labels"][LABEL_EDITION]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            rules: rules.map(str::to_owned).collect(),
            denies: *denies.get(name)?,
        })
    });
    Some(policies.take(MOST).collect())
}

async fn list(client: &TimedClient, plural: &str) -> Option<Value> {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}?labelSelector={LABEL_EDITION}");
    timeout(PATIENCE, get::<Value>(client, &path)).await.ok()?.ok()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}
