//! The profiles of a testbed.

use std::collections::BTreeMap;

use evidence::{
    ConsumerSpec, MemberAddress,
    api::names::{CONDITION_HEALTHY, CONDITION_JOINED, EXTENSION_EXEC, LABEL_MANAGER},
    runs::LABEL_RUN,
};
use jiff::Timestamp;
use serde_json::{Value, json};

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
            "extensions": [{"name": EXTENSION_EXEC, "extension": {"member": address.member, "round": 0}}],
        });
        if !address.ca_data.is_empty() {
            cluster["certificate-authority-data"] = address.ca_data.as_str().into();
        }
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

/// Where a profile is published, and how it is labelled beside what all have.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
}

impl Place {
    /// Where the consumer looks.
    pub fn selected(claims: &ConsumerSpec) -> Self {
        Self {
            namespace: claims.namespaces.first().cloned().unwrap_or_default(),
            labels: claims.labels.clone(),
        }
    }

    /// Whether the consumer selects a profile there.
    pub fn is_selected(&self, claims: &ConsumerSpec) -> bool {
        let has = |(key, value): (&String, &String)| self.labels.get(key) == Some(value);
        claims.namespaces.contains(&self.namespace) && claims.labels.iter().all(has)
    }

    /// In that namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// With that label.
    pub fn labelled(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// A new profile, without its status.
pub(super) fn object(run: &str, name: &str, place: &Place) -> Value {
    let mut labels = json!({LABEL_MANAGER: OURSELVES, LABEL_RUN: run});
    for (key, value) in &place.labels {
        labels[key] = value.as_str().into();
    }
    json!({
        "metadata": {"namespace": place.namespace, "name": name, "labels": labels},
        "spec": {"displayName": name, "clusterManager": {"name": OURSELVES}},
    })
}

/// The status of a profile.
#[derive(Clone, Debug)]
pub(super) struct Status {
    entries: Vec<Entry>,
    beat: usize,
    /// The status of the condition of health.
    healthy: &'static str,
    /// Fields that say something else, or more.
    beside: Value,
}

impl Status {
    /// That of a healthy member.
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self {
            entries: entries.into_iter().collect(),
            beat: 0,
            healthy: "True",
            beside: Value::Null,
        }
    }

    /// That of its manager's beat of this number.
    pub fn beat(mut self, beat: usize) -> Self {
        self.beat = beat;
        self
    }

    /// With that status of the condition of health.
    pub fn healthy(mut self, status: &'static str) -> Self {
        self.healthy = status;
        self
    }

    /// With these fields.
    pub fn with(mut self, beside: Value) -> Self {
        self.beside = beside;
        self
    }

    /// As the API has it. Its conditions hold since a moment.
    pub(super) fn since(&self, since: Timestamp) -> Value {
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let entries: Vec<Value> = self
            .entries
            .iter()
            .map(|entry| json!({"name": entry.name, "cluster": entry.cluster}))
            .collect();
        let mut status = json!({
            "version": {"kubernetes": "v1.34.2"},
            "properties": [{"name": "beats.conformance.example", "value": self.beat.to_string()}],
            "conditions": [
                condition(CONDITION_HEALTHY, self.healthy, &since),
                condition(CONDITION_JOINED, "True", &since),
            ],
            "accessProviders": entries,
        });
        for (field, value) in self.beside.as_object().into_iter().flatten() {
            status[field] = value.clone();
        }
        status
    }
}

/// A condition.
fn condition(kind: &str, status: &str, since: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Staged", "message": "", "lastTransitionTime": since})
}
