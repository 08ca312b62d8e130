//! Parts of an object that a rule reads: two versions with equal parts get the same answer.

use std::sync::Arc;

use evidence::api::{ClusterProfile, PlacementDecision};

/// Whether two versions have the same labels and spec.
pub(crate) fn same_labels(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.metadata.labels, &other.metadata.labels) && Arc::ptr_eq(&one.spec, &other.spec)
}

/// Whether two versions have the same labels, annotations, and spec.
pub(crate) fn same_metadata(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_labels(one, other) && Arc::ptr_eq(&one.metadata.annotations, &other.metadata.annotations)
}

/// Whether two versions have the same properties.
pub(crate) fn same_properties(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.properties, &other.status.properties)
}

/// Whether two versions have the same conditions, generation, and version of Kubernetes.
pub(crate) fn same_conditions(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.conditions, &other.status.conditions)
        && one.metadata.generation == other.metadata.generation
        && one.status.version == other.status.version
}

/// Whether two versions have the same access providers.
pub(crate) fn same_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.access_providers, &other.status.access_providers)
        && Arc::ptr_eq(
            &one.status.credential_providers,
            &other.status.credential_providers,
        )
}

/// Whether two versions have the same labels, annotations, spec, and status apart from access providers.
pub(crate) fn same_outside_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_metadata(one, other) && same_properties(one, other) && same_conditions(one, other)
}

/// Whether two versions have the same managedFields.
pub(crate) fn same_writers(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.metadata.writers == other.metadata.writers
}

/// Whether two versions of a slice have the same labels, scheduler, owners, finalizers, and decisions.
pub(crate) fn same_slice(one: &PlacementDecision, other: &PlacementDecision) -> bool {
    let same_decisions = match (&one.decisions, &other.decisions) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    same_decisions
        && Arc::ptr_eq(&one.metadata.labels, &other.metadata.labels)
        && Arc::ptr_eq(&one.metadata.annotations, &other.metadata.annotations)
        && one.scheduler_name == other.scheduler_name
        && one.metadata.owner_references == other.metadata.owner_references
        && one.metadata.finalizers == other.metadata.finalizers
}
