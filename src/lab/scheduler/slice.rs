//! One slice of a decision: what is sent, and what the hub keeps of it.

use evidence::api::{
    ClusterProfileReference, Labels,
    names::{GROUP, LABEL_DECISION_INDEX},
};
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
    /// The object that the slice is deleted with.
    pub owner: Value,
    pub scheduler: String,
    pub decisions: Vec<ClusterProfileReference>,
    /// A merge patch by which a fault changes what is published.
    pub patch: Value,
}

impl Slice {
    pub(super) fn target(&self) -> Target {
        target(&self.namespace, &self.name)
    }

    /// Gives the slice another number, in its name and its index.
    pub(super) fn number(&mut self, index: usize) {
        let base = self.name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        self.name = format!("{base}{index}");
        self.labels
            .insert(LABEL_DECISION_INDEX.to_owned(), index.to_string());
    }

    /// The object to create.
    pub(super) fn to_json(&self) -> Value {
        let decisions = self.decisions.iter();
        let decisions: Value = decisions
            .map(|reference| json!({"clusterProfileRef": reference}))
            .collect();
        let mut object = json!({
            "metadata": {
                "namespace": self.namespace, "name": self.name, "labels": self.labels,
                "ownerReferences": [self.owner],
            },
            "schedulerName": self.scheduler,
            "decisions": decisions,
        });
        json_patch::merge(&mut object, &self.patch);
        object
    }

    /// The merge patch that makes the object on the hub what it should be; none if it is.
    ///
    /// Labels of other groups, annotations and finalizers are not compared: others may have set them.
    pub(super) fn difference(&self, there: &DynamicObject) -> Option<Value> {
        let mut patch = self.to_json();
        let own = |key: &str| key == LABEL_WORKLOAD || key.starts_with(GROUP);
        let labels = there.metadata.labels.iter().flatten();
        let labels: Labels = labels
            .filter(|(key, _)| own(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let uids = |owners: &Value| -> Vec<Value> {
            let owners = owners.as_array().into_iter().flatten();
            owners.map(|owner| owner["uid"].clone()).collect()
        };
        let wanted = &patch["metadata"];
        let is_same = json!(labels) == wanted["labels"]
            && uids(&json!(there.metadata.owner_references)) == uids(&wanted["ownerReferences"])
            && ["schedulerName", "decisions"]
                .into_iter()
                .all(|field| there.data.get(field) == patch.get(field));
        if is_same {
            return None;
        }
        for key in labels.keys() {
            if patch["metadata"]["labels"].get(key).is_none() {
                patch["metadata"]["labels"][key] = Value::Null;
            }
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
}

/// A slice on the hub.
pub(super) fn target(namespace: &str, name: &str) -> Target {
    Target {
        resource: slice_resource(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}
