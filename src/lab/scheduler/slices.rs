//! The slices of a decision as the scheduler publishes them, and the workloads that own them.

use std::collections::BTreeSet;

use evidence::api::{
    Labels,
    names::{GROUP, LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY, LARGEST_SLICE},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use super::{PLACEMENTS, SCHEDULER, world::Placement};
use crate::{
    client::{ObjectTarget, slice_resource},
    crd,
};

/// The scheduler's own label: the workload of a slice. By it alone the scheduler recognizes its slices.
const LABEL_WORKLOAD: &str = "scheduler.lab.example.com/workload";
/// The kind of the workloads.
const WORKLOAD_GROUP: &str = "lab.example.com";
const WORKLOAD_KIND: &str = "Workload";

/// The clusters that a workload should have, given those that it has.
///
/// What stays keeps its order, and what is new comes last: a cluster only ever moves to an earlier slice. `available`
/// are the clusters of the inventory that are healthy, in order.
pub(super) fn select(placement: &Placement, current: &[String], available: &[String]) -> Vec<String> {
    let (first, later) = available.split_at(placement.skips.min(available.len()));
    let candidates: BTreeSet<&String> = available.iter().collect();
    let current = current.iter().filter(|cluster| candidates.contains(cluster));
    let mut used = BTreeSet::new();
    current
        .chain(later)
        .chain(first)
        .filter(|cluster| used.insert(*cluster))
        .take(placement.clusters)
        .cloned()
        .collect()
}

/// The slices of a decision: each cluster once, in order, at most 100 in each; an empty one if there is no cluster.
pub(super) fn slices(placement: &Placement, owner: &Value, clusters: &[String]) -> Vec<Value> {
    let count = clusters.len().div_ceil(LARGEST_SLICE).max(1);
    let mut parts = clusters.chunks(LARGEST_SLICE);
    (0..count)
        .map(|index| slice(placement, owner, index, parts.next().unwrap_or_default()))
        .collect()
}

/// One slice: `<base>-<index>`.
pub(super) fn slice(placement: &Placement, owner: &Value, index: usize, clusters: &[String]) -> Value {
    let name = &placement.name;
    let decisions = clusters
        .iter()
        .map(|cluster| decision(placement.inventory, cluster));
    let mut slice = json!({
        "metadata": {
            "namespace": PLACEMENTS,
            "name": format!("{SCHEDULER}-{name}-{index}"),
            "labels": {LABEL_DECISION_KEY: name, LABEL_PLACEMENT_KEY: name, LABEL_WORKLOAD: name},
            "ownerReferences": [owner],
        },
        "schedulerName": SCHEDULER,
        "decisions": decisions.collect::<Value>(),
    });
    if placement.is_ordered {
        slice["metadata"]["labels"][LABEL_DECISION_INDEX] = index.to_string().into();
    }
    slice
}

/// An entry of a slice.
pub(super) fn decision(namespace: &str, name: &str) -> Value {
    json!({"clusterProfileRef": {"namespace": namespace, "name": name}})
}

/// The name of a slice to publish.
pub(super) fn name_of(slice: &Value) -> &str {
    slice["metadata"]["name"].as_str().unwrap_or_default()
}

/// The merge patch that turns the slice on the hub into the wanted one; none if they agree.
///
/// Labels of other groups, annotations and finalizers are not compared: other clients may have set them.
pub(super) fn difference(slice: &Value, there: &DynamicObject) -> Option<Value> {
    let labels = there.metadata.labels.iter().flatten();
    let labels: Labels = labels
        .filter(|(key, _)| *key == LABEL_WORKLOAD || key.starts_with(GROUP))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let uids = |owners: &Value| -> Vec<Value> {
        let owners = owners.as_array().into_iter().flatten();
        owners.map(|owner| owner["uid"].clone()).collect()
    };
    let metadata = &slice["metadata"];
    let is_same = json!(labels) == metadata["labels"]
        && uids(&json!(there.metadata.owner_references)) == uids(&metadata["ownerReferences"])
        && ["schedulerName", "decisions"]
            .into_iter()
            .all(|field| there.data.get(field) == slice.get(field));
    if is_same {
        return None;
    }
    let mut patch = json!({
        "metadata": {"labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"]},
        "schedulerName": slice["schedulerName"],
        "decisions": slice["decisions"],
    });
    for key in labels
        .keys()
        .filter(|key| metadata["labels"].get(key.as_str()).is_none())
    {
        patch["metadata"]["labels"][key] = Value::Null;
    }
    Some(patch)
}

/// The workload whose slice it is; none if it is not the scheduler's.
pub(super) fn workload_of(slice: &DynamicObject) -> Option<&str> {
    let labels = slice.metadata.labels.as_ref()?;
    labels.get(LABEL_WORKLOAD).map(String::as_str)
}

/// The names of the clusters in a slice on the hub, in order.
pub(super) fn clusters_of(slice: &DynamicObject) -> impl Iterator<Item = String> {
    let decisions = slice.data["decisions"].as_array().into_iter().flatten();
    decisions.filter_map(|decision| Some(decision["clusterProfileRef"]["name"].as_str()?.to_owned()))
}

/// A slice on the hub.
pub(super) fn target(name: &str) -> ObjectTarget {
    ObjectTarget::namespaced(slice_resource(), PLACEMENTS, name)
}

/// The definition of the workloads.
pub(super) fn workload_definition() -> CustomResourceDefinition {
    let definition = crd::of_any_shape(WORKLOAD_GROUP, "v1", "workloads", WORKLOAD_KIND);
    serde_json::from_value(definition).expect("the fixed definition is valid")
}

/// A workload on the hub.
pub(super) fn workload(name: &str) -> ObjectTarget {
    let kind = GroupVersionKind::gvk(WORKLOAD_GROUP, "v1", WORKLOAD_KIND);
    ObjectTarget::namespaced(
        ApiResource::from_gvk_with_plural(&kind, "workloads"),
        PLACEMENTS,
        name,
    )
}

/// The workload to create. It carries the placement key, as its decisions do.
pub(super) fn workload_object(name: &str) -> Value {
    json!({"metadata": {"labels": {LABEL_PLACEMENT_KEY: name}}})
}

/// Refers to a workload as the owner of a slice.
pub(super) fn owner(workload: &DynamicObject) -> Value {
    json!({
        "apiVersion": format!("{WORKLOAD_GROUP}/v1"),
        "kind": WORKLOAD_KIND,
        "name": workload.metadata.name,
        "uid": workload.metadata.uid,
        "controller": true,
    })
}
