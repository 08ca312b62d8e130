//! Selects the clusters of a workload: those that it has, and as many further ones as it lacks.

use std::collections::BTreeSet;

use evidence::api::{
    ClusterProfileReference,
    names::{CONDITION_HEALTHY, CONDITION_JOINED},
};
use kube::api::DynamicObject;

use super::placement::{Clusters, Placement};

/// The clusters that a workload should have, given those that it has.
///
/// What stays keeps its order, and what is new comes last: a cluster only ever moves to an earlier slice. `available`
/// are the clusters of the inventory that are well, in order.
pub(super) fn select(
    placement: &Placement,
    has: &[ClusterProfileReference],
    available: &[ClusterProfileReference],
) -> Vec<ClusterProfileReference> {
    let well: BTreeSet<_> = available.iter().collect();
    let (candidates, count) = match &placement.clusters {
        Clusters::Count(count) => {
            let skipped = placement.skips.min(available.len());
            let (later, first) = (&available[skipped..], &available[..skipped]);
            ([later, first].concat(), *count)
        }
        Clusters::These(list) => {
            let list: Vec<_> = list.iter().filter(|one| well.contains(one)).cloned().collect();
            let count = list.len();
            (list, count)
        }
    };
    let wanted: BTreeSet<_> = candidates.iter().collect();
    let mut selected: Vec<ClusterProfileReference> = Vec::new();
    let mut taken = BTreeSet::new();
    for cluster in has
        .iter()
        .filter(|cluster| wanted.contains(cluster))
        .chain(&candidates)
    {
        if selected.len() == count {
            break;
        }
        if taken.insert(cluster) {
            selected.push(cluster.clone());
        }
    }
    selected
}

/// The reference to a profile.
pub(super) fn reference(namespace: &str, name: &str) -> ClusterProfileReference {
    ClusterProfileReference {
        name: name.into(),
        namespace: namespace.into(),
    }
}

/// True unless the profile says that its cluster is gone or down.
pub(super) fn is_well(profile: &DynamicObject) -> bool {
    let conditions = profile.data["status"]["conditions"].as_array();
    let says_no = |kind: &str| {
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition["type"] == kind && condition["status"] == "False")
    };
    profile.metadata.deletion_timestamp.is_none() && !says_no(CONDITION_JOINED) && !says_no(CONDITION_HEALTHY)
}
