//! The profiles of a stage.

use evidence::{
    MemberAddress,
    api::names::{CONDITION_HEALTHY, CONDITION_JOINED, EXTENSION_EXEC, LABEL_MANAGER},
    runs::LABEL_RUN,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::StagePlan;
use crate::driver::OURSELVES;

/// How the names of variables begin that staged profiles ask for.
const VARIABLES: &str = "CONFORMANCE_STAGE_";
/// A variable of one profile.
pub(super) const VARIABLE_A: &str = "CONFORMANCE_STAGE_A";
/// A variable of another profile.
pub(super) const VARIABLE_C: &str = "CONFORMANCE_STAGE_C";

/// Whether a variable, as `NAME=value`, is one that staged profiles ask for.
pub fn is_staged_variable(variable: &str) -> bool {
    variable.starts_with(VARIABLES)
}

/// An access provider of a profile.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The provider's name.
    pub name: String,
    /// The cluster, as in a kubeconfig.
    pub cluster: Value,
}

impl Entry {
    /// The way to a member, as its manager would describe it.
    pub fn to(provider: &str, address: &MemberAddress) -> Self {
        let mut cluster = json!({
            "server": address.url,
            "certificate-authority-data": address.ca_data,
            "extensions": [{"name": EXTENSION_EXEC, "extension": {"member": address.member, "round": 0}}],
        });
        if let Some(name) = &address.server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        Self {
            name: provider.to_owned(),
            cluster,
        }
    }

    /// With that field of the cluster.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.cluster[field] = value.into();
        self
    }

    /// With that content of an extension.
    pub fn extended(mut self, name: &str, content: Value) -> Self {
        if let Some(extensions) = self.cluster["extensions"].as_array_mut() {
            extensions.retain(|extension| extension["name"] != *name);
            extensions.push(json!({"name": name, "extension": content}));
        }
        self
    }

    /// With another number in what is said to the plugin, so that no credential is taken from a cache.
    pub fn round(self, member: &str, round: usize) -> Self {
        self.extended(EXTENSION_EXEC, json!({"member": member, "round": round}))
    }
}

/// A new profile, without its status.
pub(super) fn object(plan: &StagePlan, name: &str) -> Value {
    let mut labels = json!({LABEL_MANAGER: OURSELVES, LABEL_RUN: plan.run});
    for (key, value) in &plan.claims.labels {
        labels[key] = value.as_str().into();
    }
    json!({
        "metadata": {"namespace": plan.namespace(), "name": name, "labels": labels},
        "spec": {"displayName": name, "clusterManager": {"name": OURSELVES}},
    })
}

/// The status of a healthy member, and of the beats of its manager.
pub(super) fn status(entries: &[Entry], since: Timestamp, beat: usize) -> Value {
    let condition = |kind: &str| {
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        json!({"type": kind, "status": "True", "reason": "Staged", "message": "", "lastTransitionTime": since})
    };
    let entries: Vec<Value> = entries
        .iter()
        .map(|entry| json!({"name": entry.name, "cluster": entry.cluster}))
        .collect();
    json!({
        "version": {"kubernetes": "v1.34.2"},
        "properties": [{"name": "beats.conformance.example", "value": beat.to_string()}],
        "conditions": [condition(CONDITION_HEALTHY), condition(CONDITION_JOINED)],
        "accessProviders": entries,
    })
}
