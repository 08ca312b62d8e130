//! One slice of a decision: what is sent, and what the hub keeps of it.

use evidence::api::{ClusterProfileReference, Labels, names::GROUP};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::client::{Target, slice_resource};

/// The scheduler's own label: the workload of a slice. By it alone the scheduler tells its slices from others.
pub(super) const LABEL_WORKLOAD: &str = "scheduler.lab.example.com/workload";

/// A slice of a decision.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub namespace: String,
    pub name: String,
    pub labels: Labels,
    pub finalizers: Vec<String>,
    /// The object that the slice is deleted with.
    pub owner: Option<Value>,
    pub scheduler: Option<String>,
    /// `None`: the list is left out.
    pub decisions: Option<Vec<Decision>>,
}

/// A selected cluster.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub reference: ClusterProfileReference,
    pub reason: Option<String>,
}

impl Decision {
    pub(super) fn of(reference: ClusterProfileReference) -> Self {
        Self {
            reference,
            reason: None,
        }
    }

    fn to_json(&self) -> Value {
        let mut kept = json!({"clusterProfileRef": self.reference});
        if let Some(reason) = &self.reason {
            kept["reason"] = json!(reason);
        }
        kept
    }
}

impl Slice {
    pub(super) fn target(&self) -> Target {
        target(&self.namespace, &self.name)
    }

    /// The object to create.
    pub(super) fn to_json(&self) -> Value {
        let mut object = json!({
            "metadata": {
                "namespace": self.namespace, "name": self.name, "labels": self.labels,
                "finalizers": self.finalizers, "ownerReferences": self.owners(),
            },
        });
        if let Some(scheduler) = &self.scheduler {
            object["schedulerName"] = json!(scheduler);
        }
        if let Some(decisions) = &self.decisions {
            object["decisions"] = decisions.iter().map(Decision::to_json).collect();
        }
        object
    }

    /// The merge patch that makes the object on the hub what it should be; none if it is.
    ///
    /// Labels of other groups, annotations and finalizers are not compared: others may have set them.
    pub(super) fn difference(&self, there: &DynamicObject) -> Option<Value> {
        let metadata = &there.metadata;
        let own = |key: &str| key == LABEL_WORKLOAD || key.starts_with(GROUP);
        let labels = metadata.labels.iter().flatten();
        let labels: Labels = labels
            .filter(|(key, _)| own(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let uids = |owners: &Value| -> Vec<Value> {
            let owners = owners.as_array().into_iter().flatten();
            owners.map(|owner| owner["uid"].clone()).collect()
        };
        let owners = json!(metadata.owner_references);
        let stored: Option<Value> = self
            .decisions
            .as_ref()
            .map(|decisions| decisions.iter().map(Decision::to_json).collect());
        let is_same = labels == self.labels
            && uids(&owners) == uids(&self.owners())
            && there.data["schedulerName"] == json!(self.scheduler)
            && there.data["decisions"] == json!(stored);
        if is_same {
            return None;
        }
        let mut patch = self.to_json();
        let removed = labels.keys().filter(|key| !self.labels.contains_key(*key));
        for key in removed {
            patch["metadata"]["labels"][key] = Value::Null;
        }
        if let Some(metadata) = patch["metadata"].as_object_mut() {
            metadata.retain(|key, _| matches!(key.as_str(), "labels" | "ownerReferences"));
        }
        for absent in ["schedulerName", "decisions"] {
            if patch.get(absent).is_none() {
                patch[absent] = Value::Null;
            }
        }
        Some(patch)
    }

    fn owners(&self) -> Value {
        self.owner.iter().cloned().collect()
    }
}

/// A slice on the hub.
pub(super) fn target(namespace: &str, name: &str) -> Target {
    Target {
        resource: slice_resource(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}
