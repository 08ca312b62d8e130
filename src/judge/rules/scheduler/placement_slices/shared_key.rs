//! The decision key of slices that the limit has cut.

use evidence::{
    api::{PlacementDecision, names},
    clusters_of,
};

use crate::{
    engine::{Answer, PlacementStep},
    subjects::Finding,
    text::{ABSENT, counted},
    timeline::Certainty,
};

/// `placement-slices/key-shared`
///
/// All slices of a placement that the limit has cut have a decision key.
pub(in crate::rules) fn key_shared(step: &PlacementStep) -> Answer {
    let from = step.taken.from.as_microsecond();
    match step.lasted(from, |slices| is_cut(slices) && without_key(slices).is_some()) {
        Certainty::Yes => {}
        Certainty::Unknown(reason) => return Answer::Unknown(reason),
        Certainty::No => {
            let is_any_cut = step.states_until_next(from).any(|state| is_cut(&state.slices));
            return if is_any_cut {
                Answer::Kept
            } else {
                Answer::NotApplicable
            };
        }
    }
    let mut cut = step.states_until_next(from).filter(|state| is_cut(&state.slices));
    let wrong = cut.find_map(|state| Some((without_key(&state.slices)?, state.slices.len())));
    wrong.map_or(Answer::Kept, |(slice, count)| {
        let message = "slice has no decision key, and its decision has several slices";
        Answer::broken(
            Finding::on(slice, message)
                .at(format!("metadata.labels[{}]", names::LABEL_DECISION_KEY))
                .expected(format!("one key for all {}", counted(count, "slice")))
                .observed(ABSENT),
        )
    })
}

/// Whether one slice is full and has others next to it, so that the limit has cut the decision.
///
/// A scheduler may answer in several namespaces, or with several decisions for the same clusters. Those need no key.
fn is_cut(slices: &[&PlacementDecision]) -> bool {
    let is_full = slices
        .iter()
        .any(|slice| slice.clusters().len() == names::LARGEST_SLICE);
    let namespace = |slice: &PlacementDecision| slice.metadata.namespace.clone();
    let is_in_one_namespace = slices
        .iter()
        .all(|slice| namespace(slice) == namespace(slices[0]));
    let listed: usize = slices.iter().map(|slice| slice.clusters().len()).sum();
    slices.len() > 1 && is_full && is_in_one_namespace && listed == clusters_of(slices).len()
}

/// A slice without a key. An empty one is not a key.
fn without_key<'s>(slices: &[&'s PlacementDecision]) -> Option<&'s PlacementDecision> {
    let key = |slice: &PlacementDecision| slice.label(names::LABEL_DECISION_KEY).map(str::to_owned);
    let mut slices = slices.iter().copied();
    slices.find(|slice| key(slice).is_none_or(|key| key.is_empty()))
}
