//! The slices of a decision, as the scheduler publishes them.

use std::collections::BTreeMap;

use evidence::api::{
    ClusterProfileReference,
    names::{LABEL_DECISION_INDEX, LABEL_DECISION_KEY, LABEL_PLACEMENT_KEY, LARGEST_SLICE},
};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{
    names::SCHEDULER,
    placement::Placement,
    slice::{LABEL_WORKLOAD, Slice},
};

/// The slices of a decision: each cluster once, in order, at most 100 in each; an empty one if there is no cluster.
pub(super) fn slices(
    placement: &Placement,
    owner: &Value,
    clusters: &[ClusterProfileReference],
) -> Vec<Slice> {
    let count = clusters.len().div_ceil(LARGEST_SLICE).max(1);
    let mut parts = clusters.chunks(LARGEST_SLICE);
    (0..count)
        .map(|index| slice(placement, owner, index, parts.next().unwrap_or_default()))
        .collect()
}

/// One slice: `<base>-<index>`.
pub(super) fn slice(
    placement: &Placement,
    owner: &Value,
    index: usize,
    clusters: &[ClusterProfileReference],
) -> Slice {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let name = &placement.name;
    let mut labels = BTreeMap::from([
        label(LABEL_DECISION_KEY, name),
        label(LABEL_PLACEMENT_KEY, name),
        label(LABEL_WORKLOAD, name),
    ]);
    if placement.is_ordered {
        labels.extend([label(LABEL_DECISION_INDEX, &index.to_string())]);
    }
    Slice {
        namespace: placement.namespace.clone(),
        name: format!("{SCHEDULER}-{name}-{index}"),
        labels,
        owner: owner.clone(),
        scheduler: SCHEDULER.to_owned(),
        decisions: clusters.to_vec(),
        patch: json!({}),
    }
}

/// The workload whose slice it is; none if it is not the scheduler's.
pub(super) fn workload_of(slice: &DynamicObject) -> Option<&str> {
    let labels = slice.metadata.labels.as_ref()?;
    labels.get(LABEL_WORKLOAD).map(String::as_str)
}

/// The clusters of a slice on the hub, in order.
pub(super) fn clusters_of(slice: &DynamicObject) -> impl Iterator<Item = ClusterProfileReference> {
    let decisions = slice.data["decisions"].as_array().into_iter().flatten();
    decisions.filter_map(|decision| serde_json::from_value(decision["clusterProfileRef"].clone()).ok())
}
