//! The key that the slices of one decision share.

use std::collections::BTreeMap;

use evidence::{
    ObjectRef,
    api::{DecisionId, PlacementDecision},
};

use crate::{
    engine::{Answer, Hub},
    shared::placement::owner_of,
    subjects::Finding,
};

/// The namespace and decision key of a slice.
pub(in crate::rules) fn namespace_and_key(slice: &PlacementDecision, _: &Hub) -> Vec<(String, String)> {
    let id = DecisionId::of(slice);
    let key = id.key.map(|key| (id.namespace.to_owned(), key.to_owned()));
    key.into_iter().collect()
}

/// `placement-slices/key-one-decision`
pub(in crate::rules) fn key_one_decision(
    _: &(String, String),
    slices: &[&PlacementDecision],
    _: &Hub,
) -> Answer {
    let scheduler = |slice: &PlacementDecision| Some(slice.scheduler().to_owned());
    let owner = |slice: &PlacementDecision| {
        let owner = owner_of(slice)?;
        Some(format!("{} {} (uid {})", owner.kind, owner.name, owner.uid))
    };
    let schedulers = differing(
        slices,
        scheduler,
        "two schedulers use one decision key",
        "schedulerName",
    );
    if !schedulers.is_empty() {
        // Two schedulers have two owners, too.
        return Answer::all(schedulers);
    }
    let message = "slices of one decision key have different owners";
    Answer::all(differing(slices, owner, message, "metadata.ownerReferences"))
}

/// A finding for each value other than that of the first slice that has one, by name.
fn differing(
    slices: &[&PlacementDecision],
    value: impl Fn(&PlacementDecision) -> Option<String>,
    message: &str,
    path: &str,
) -> Vec<Finding> {
    let mut slices = slices.to_vec();
    slices.sort_by_key(|slice| slice.metadata.name.clone());
    let mut first_with: BTreeMap<String, &PlacementDecision> = BTreeMap::new();
    for slice in &slices {
        if let Some(value) = value(slice).filter(|value| !value.is_empty()) {
            first_with.entry(value).or_insert(slice);
        }
    }
    let first = slices
        .iter()
        .find_map(|slice| Some((slice, value(slice).filter(|value| !value.is_empty())?)));
    let Some((first, wanted)) = first else {
        return Vec::new();
    };
    first_with.remove(&wanted);
    let others = first_with.into_iter().map(|(value, slice)| {
        Finding::on(ObjectRef::from(slice), message)
            .at(path)
            .expected(format!("{wanted}, as in slice {}", first.metadata.name))
            .observed(value)
    });
    others.collect()
}
