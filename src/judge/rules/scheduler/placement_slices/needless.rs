//! Slices that a decision does not need.

use evidence::{
    ObjectRef,
    api::{DecisionId, PlacementDecision},
};

use crate::{
    engine::{Answer, DecisionKey, Hub},
    shared::placement::have_two_owners,
    subjects::Finding,
    text::counted,
};

/// `placement-slices/no-needless-slices`
pub(in crate::rules) fn no_needless_slices(
    _: &DecisionKey,
    slices: &[&PlacementDecision],
    _: &Hub,
) -> Answer {
    if have_two_owners(slices) {
        return Answer::NotApplicable;
    }
    let clusters: usize = slices.iter().map(|slice| slice.clusters().len()).sum();
    let mut empty: Vec<&PlacementDecision> = slices.to_vec();
    empty.retain(|slice| slice.clusters().is_empty());
    empty.sort_by_key(|slice| slice.metadata.name.clone());
    // A decision without clusters keeps one slice.
    let needed = (slices.len() - empty.len()).max(1);
    let needless = empty.iter().rev().take(slices.len() - needed);
    Answer::all(needless.map(|slice| {
        Finding::on(
            ObjectRef::from(*slice),
            "a decision of several slices has an empty one",
        )
        .at("decisions")
        .expected(format!(
            "{} in {}",
            counted(needed, "slice"),
            DecisionId::of(slice).describe()
        ))
        .observed(format!(
            "{} slices for {}",
            slices.len(),
            counted(clusters, "cluster")
        ))
    }))
}
