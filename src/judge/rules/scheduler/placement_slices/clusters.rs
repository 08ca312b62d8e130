//! The clusters of a decision.

use evidence::{
    ObjectRef,
    api::{ClusterProfileReference, DecisionId, PlacementDecision},
};

use crate::{
    engine::{Answer, DecisionKey, Hub},
    hash::HashSet,
    shared::placement::have_two_owners,
    subjects::Finding,
};

/// `placement-slices/cluster-once`: a slice lists no cluster twice.
pub(in crate::rules) fn cluster_once_in_slice(slice: &PlacementDecision, _: &Hub) -> Answer {
    let mut listed = HashSet::default();
    let repeated = clusters(slice).filter(|(_, cluster)| !listed.insert(cluster.clone()));
    let scope = format!("slice {}/{}", slice.metadata.namespace, slice.metadata.name);
    Answer::all(repeated.map(|(place, cluster)| listed_twice((slice, place), &cluster, slice, &scope)))
}

/// The clusters of a keyed decision: a group has the slices that list one of them.
pub(in crate::rules) fn cluster_of_decision(
    slice: &PlacementDecision,
    _: &Hub,
) -> Vec<(DecisionKey, ClusterProfileReference)> {
    let key = DecisionKey::of(slice);
    match key.key {
        Some(_) => clusters(slice)
            .map(|(_, cluster)| (key.clone(), cluster))
            .collect(),
        None => Vec::new(),
    }
}

/// `placement-slices/cluster-once`: no two slices of a decision list a cluster.
pub(in crate::rules) fn cluster_in_one_slice(
    (_, cluster): &(DecisionKey, ClusterProfileReference),
    slices: &[&PlacementDecision],
    _: &Hub,
) -> Answer {
    let mut slices = slices.to_vec();
    slices.sort_by_key(|slice| slice.metadata.name.clone());
    let [first, second, ..] = &*slices else {
        return Answer::Kept;
    };
    if have_two_owners(&slices) {
        return Answer::NotApplicable;
    }
    let place = clusters(second)
        .find(|(_, own)| own == cluster)
        .map_or(0, |(place, _)| place);
    let scope = DecisionId::of(second).describe();
    // The same violation if the cluster moves within the list.
    Answer::broken(listed_twice((second, place), cluster, first, &scope).about(&*cluster.name))
}

/// The clusters of a slice with their places. An absent reference or an empty name is for `placement-references/name-valid`.
fn clusters(slice: &PlacementDecision) -> impl Iterator<Item = (usize, ClusterProfileReference)> {
    let decisions = slice.clusters().iter().enumerate();
    let references = decisions.filter_map(|(place, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        Some((place, slice.resolved(reference)))
    });
    references.filter(|(_, cluster)| !cluster.name.is_empty())
}

fn listed_twice(
    (slice, place): (&PlacementDecision, usize),
    cluster: &ClusterProfileReference,
    first: &PlacementDecision,
    scope: &str,
) -> Finding {
    Finding::on(ObjectRef::from(slice), "the decision names a cluster twice")
        .at(format!("decisions[{place}].clusterProfileRef"))
        .expected(format!("each cluster once in {scope}"))
        .observed(format!(
            "{}/{}, as in slice {}",
            cluster.namespace, cluster.name, first.metadata.name
        ))
}
